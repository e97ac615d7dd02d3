//! The picture of the dashboard: what the queries of each panel return over an hour of a made-up installation.
//!
//! Prometheus' own engine evaluates them; a query that returns nothing fails. How Grafana draws is Grafana's: the
//! picture shows panels, titles and series. Not here: whether the metrics exist (`alerts`).

#![allow(clippy::float_arithmetic, reason = "pixels")]

use std::fmt::Write as _;
use std::fs;

use plotters::coord::Shift;
use plotters::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::engine;
use super::helm::{is_generating, root, set, text};

/// Where the picture is.
const PICTURE: &str = "docs/pictures/dashboard.svg";
/// Minutes that it shows.
const MINUTES: u32 = 60;
/// What Grafana makes of its variable where metrics are scraped each 30 seconds: four times that.
const RATE_INTERVAL: &str = "2m";
/// The time that it shows, as Grafana writes it.
const RANGE: &str = "60m";
/// Pixels of a column and a row of Grafana's grid, which has 24 columns.
const CELL: (u32, u32) = (40, 26);

/// An hour of two replicas: a rollout begins after 20 minutes, and a user deletes bound PVs. A step is half a
/// minute; `LABELS` are those of the installation.
const HOUR: &[&str] = &[
    "bindery_admission_requests_total{LABELS,path=\"guard\",decision=\"allowed\"} 0+60x39 2400+150x29 6900+80x49",
    "bindery_admission_requests_total{LABELS,path=\"guard\",decision=\"denied\"} 0x49 0+3x10 30x60",
    "bindery_admission_requests_total{LABELS,path=\"advise\",decision=\"allowed\"} 0+30x39 1200+90x29 3900+40x49",
    "bindery_admission_requests_total{LABELS,path=\"mutate\",decision=\"mutated\"} 0+10x39 400+45x29 1750+15x49",
    "bindery_admission_duration_seconds_bucket{LABELS,le=\"0.0005\"} 0+60x39 2400+170x29 7500+80x49",
    "bindery_admission_duration_seconds_bucket{LABELS,le=\"0.001\"} 0+99x39 3960+283x29 12450+134x49",
    "bindery_admission_duration_seconds_bucket{LABELS,le=\"0.005\"} 0+100x39 4000+285x29 12550+135x49",
    "bindery_admission_duration_seconds_bucket{LABELS,le=\"+Inf\"} 0+100x39 4000+285x29 12550+135x49",
    "bindery_rule_results_total{LABELS,rule=\"bound-volume-delete\",result=\"denied\"} 0x49 0+3x10 30x60",
    "bindery_rule_results_total{LABELS,rule=\"prebind-class\",result=\"warned\"} 0x39 0+1x29 30x50",
    "bindery_rule_results_total{LABELS,rule=\"recycle-policy\",result=\"would_deny\"} 0x29 0+2x10 20x80",
    "bindery_rule_results_total{LABELS,rule=\"host-path-volume\",result=\"would_warn\"} 0x59 0+1x20 20x40",
    "bindery_mutations_total{LABELS,mutation=\"delayed-binding\"} 0+8x39 320+36x29 1400+12x49",
    "bindery_mutations_total{LABELS,mutation=\"restore-binding\"} 0x69 0+2x20 40x30",
    "bindery_exemptions_total{LABELS,rule=\"bound-volume-capacity\"} 0x79 0+1x10 10x30",
    "bindery_requests_rejected_total{LABELS,reason=\"reviews_full\"} 0x44 0+4x10 40x65",
    "apiserver_admission_webhook_fail_open_count{name=\"advise.bindery.dev\"} 0x44 0+2x10 20x65",
    "apiserver_admission_webhook_rejection_count{name=\"guard.bindery.dev\",error_type=\"calling_webhook_error\"} 0x46 0+1x4 4x69",
    "bindery_certificate_expiry_timestamp_seconds{LABELS,pod=\"a\"} 2592000x120",
    "bindery_controller_mode{LABELS,mode=\"prebind\"} 1x120",
    "bindery_controller_mode{LABELS,mode=\"full\"} 0x120",
    "bindery_controller_writes_total{LABELS,write=\"reserve\",outcome=\"stored\"} 0+4x39 160+40x29 1360+6x49",
    "bindery_controller_writes_total{LABELS,write=\"reserve\",outcome=\"stale\"} 0x39 0+2x29 60x50",
    "bindery_controller_queue_depth{LABELS} 2x40 60x5 90x10 40x10 5x55",
    "bindery_watch_age_seconds{LABELS,resource=\"persistentvolumes\"} 20x30 50x30 12x60",
    "bindery_watch_age_seconds{LABELS,resource=\"persistentvolumeclaims\"} 5x120",
    "bindery_scan_findings{LABELS,rule=\"duplicate-backend\",severity=\"high\"} 3x60 1x60",
    "bindery_scan_findings{LABELS,rule=\"unknown-class\",severity=\"medium\"} 7x90 8x30",
    "bindery_exemptions_in_force{LABELS,rule=\"bound-volume-capacity\"} 1x120",
    "bindery_exemption_requests{LABELS,rule=\"bound-volume-delete\"} 0x40 1x80",
    "bindery_exemption_next_expiry_timestamp_seconds{LABELS,rule=\"bound-volume-capacity\"} 432000x120",
];

/// One panel of the dashboard, as Grafana reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Panel {
    r#type: String,
    title: String,
    grid_pos: GridPos,
    targets: Vec<Target>,
}

/// Where a panel is, in columns and rows.
#[derive(Clone, Copy, Debug, Deserialize)]
struct GridPos {
    x: u32,
    y: u32,
    w: u32,
    h: u32,
}

/// One query of a panel.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    expr: String,
    #[serde(default)]
    legend_format: String,
}

/// What a query returns.
#[derive(Debug, Deserialize)]
struct Series {
    labels: serde_json::Map<String, Value>,
    values: Vec<(f64, f64)>,
}

/// A line of a graph.
type Line = (String, Vec<(f64, f64)>);

#[test]
fn the_picture_of_the_dashboard_is_current() {
    let board = set("monitoring").object("ConfigMap", "rel-bindery-dashboard");
    let board = board["data"]["rel-bindery.json"].as_str().expect("a dashboard");
    let board: Value = serde_json::from_str(board).expect("JSON");
    let panels: Vec<Panel> = serde_json::from_value(board["panels"].clone()).expect("panels");
    let made = drawn(&panels);
    if is_generating() {
        fs::write(root(PICTURE), &made).expect("the picture can be written");
    }
    let is_current = root(PICTURE).exists() && text(PICTURE) == made;
    assert!(
        is_current,
        "{PICTURE} is not what the dashboard shows; run BINDERY_GENERATE=1 make chart"
    );
}

/// The lines of each panel.
fn lines(panels: &[Panel]) -> Vec<Vec<Line>> {
    let targets: Vec<&Target> = panels.iter().flat_map(|panel| &panel.targets).collect();
    let queries = targets.iter().map(|target| {
        target.expr.replace("$__rate_interval", RATE_INTERVAL).replace("$__range", RANGE)
    });
    let queries: Vec<String> = queries.collect();
    let mut series = String::from("load 30s\n");
    for line in HOUR {
        let line = line.replace("LABELS", "namespace=\"store\",job=\"rel-bindery-metrics\"");
        let _ = writeln!(series, "  {line}");
    }
    let question = json!({"series": series, "minutes": MINUTES, "queries": queries});
    let answer = engine::answers("", &[question]).remove(0);
    let answers: Vec<Vec<Series>> = serde_json::from_value(answer).expect("series");
    let mut answered = targets.iter().zip(answers).map(|(target, found)| {
        assert!(found.iter().any(|one| !one.values.is_empty()), "{} returns nothing", target.expr);
        found.into_iter().map(|one| (legend(&target.legend_format, &one), one.values)).collect()
    });
    let of = |panel: &Panel| {
        panel.targets.iter().flat_map(|_| answered.next().unwrap_or_else(Vec::new)).collect()
    };
    panels.iter().map(of).collect()
}

/// The name of a line, as Grafana fills in labels.
fn legend(format: &str, series: &Series) -> String {
    series.labels.iter().fold(format.to_owned(), |text, (label, value)| {
        text.replace(&format!("{{{{{label}}}}}"), value.as_str().unwrap_or_default())
    })
}

/// The whole dashboard as SVG.
fn drawn(panels: &[Panel]) -> String {
    let height = panels.iter().map(|panel| panel.grid_pos.y + panel.grid_pos.h).max().unwrap_or(1);
    let mut svg = String::new();
    let area =
        SVGBackend::with_string(&mut svg, (24 * CELL.0, height * CELL.1)).into_drawing_area();
    area.fill(&WHITE).expect("it can be drawn");
    for (panel, lines) in panels.iter().zip(lines(panels)) {
        let GridPos { x, y, w, h } = panel.grid_pos;
        let area = area.clone().shrink((x * CELL.0, y * CELL.1), (w * CELL.0, h * CELL.1));
        match panel.r#type.as_str() {
            "stat" => draw_stat(&area, panel, &lines),
            _ => draw_graph(&area, panel, &lines),
        }
    }
    area.present().expect("it can be drawn");
    drop(area);
    svg
}

/// Where a panel is drawn.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A panel with lines over time.
fn draw_graph(area: &Area<'_>, panel: &Panel, lines: &[Line]) {
    let values = lines.iter().flat_map(|(_, points)| points.iter().map(|(_, value)| *value));
    let top = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 15))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(22)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..f64::from(MINUTES), 0.0..top * 1.1)
        .expect("it can be drawn");
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .y_labels(5)
        .x_labels(7)
        .x_label_formatter(&|minute| format!("{minute} min"));
    mesh.light_line_style(TRANSPARENT).draw().expect("it can be drawn");
    for (index, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2));
        chart.draw_series(line).expect("it can be drawn").label(name).legend(sample);
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8));
    labels.label_font(("sans-serif", 11)).draw().expect("it can be drawn");
}

/// A panel with the newest value: days, or the name of what is on.
fn draw_stat(area: &Area<'_>, panel: &Panel, lines: &[Line]) {
    let (name, points) = lines.first().expect("a value");
    let value = points.last().map_or(0.0, |(_, value)| *value);
    let shown =
        if name.is_empty() { format!("{:.0} days", value / 86_400.0) } else { name.clone() };
    let (width, height) = area.dim_in_pixel();
    let middle = i32::try_from(width / 2).unwrap_or_default();
    let centred = |size: i32| {
        TextStyle::from(("sans-serif", size)).pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Center,
        ))
    };
    area.draw_text(&panel.title, &centred(15), (middle, 16)).expect("it can be drawn");
    let below = i32::try_from(height / 2).unwrap_or_default();
    area.draw_text(&shown, &centred(30), (middle, below)).expect("it can be drawn");
}
