//! Plots as SVG.

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::floors::Judged;
use crate::measured::{Form, Named, Plot};

/// Pixels.
const WIDTH: u32 = 760;
const GRAPH_HEIGHT: u32 = 300;
const HEAD: u32 = 34;
const BAR: u32 = 24;
/// Where bars begin and end: names stand before them, figures behind.
const FROM: i32 = 220;
const TO: i32 = 640;

/// Of a histogram.
const BINS: u32 = 60;

/// How the names of our own figures begin, where there are others.
const OURS: &str = "Bindery";

const MET: RGBColor = RGBColor(58, 122, 184);
const MISSED: RGBColor = RGBColor(204, 80, 62);
const OTHERS: RGBColor = RGBColor(150, 158, 168);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws what a section has measured.
pub(crate) fn drawn(plot: &Plot) -> Result<String, String> {
    match &plot.form {
        Form::Bars(bars) => draw_bars(&plot.title, bars),
        Form::Histogram(times) => draw_histogram(&plot.title, times),
        Form::Growth(lines) => draw_growth(&plot.title, lines),
    }
}

/// Draws how many times better than its floor each row is, on a logarithmic axis: 1 is the floor.
pub(crate) fn margins(rows: &[&Judged]) -> Result<String, String> {
    let rows: Vec<(&Judged, f64)> =
        rows.iter().filter_map(|row| row.margin.map(|margin| (*row, margin))).collect();
    let ends = rows
        .iter()
        .fold((0.5_f64, 2.0_f64), |(low, high), (_, margin)| (low.min(*margin), high.max(*margin)));
    // To pixels.
    let place = |margin: f64| {
        let share = (margin / ends.0).ln() / (ends.1 / ends.0).ln();
        FROM + rounded(share * f64::from(TO - FROM))
    };
    svg(height_of(rows.len()), |area| {
        text(
            area,
            "Times better than the floor; left of the line it is missed",
            15,
            (8, 10),
            HPos::Left,
        )?;
        for (index, (row, margin)) in rows.iter().enumerate() {
            let colour = if row.is_met { MET } else { MISSED };
            let (top, bottom) = bar_place(index);
            let (one, end) = (place(1.0), place(*margin));
            rectangle(area, [(one.min(end), top), (one.max(end), bottom)], colour)?;
            text(area, &row.id, 12, (FROM - 8, top + 3), HPos::Right)?;
            text(area, &format!("{margin:.2}"), 12, (TO + 10, top + 3), HPos::Left)?;
        }
        let last = bar_place(rows.len()).0;
        let line = PathElement::new(
            [(place(1.0), rounded(f64::from(HEAD)) - 6), (place(1.0), last)],
            BLACK,
        );
        area.draw(&line).map_err(said)
    })
}

fn draw_bars(title: &str, bars: &Named<f64>) -> Result<String, String> {
    let has_others = bars.iter().any(|(name, _)| name.starts_with(OURS));
    let longest = bars.iter().map(|(_, figure)| *figure).fold(f64::MIN_POSITIVE, f64::max);
    svg(height_of(bars.len()), |area| {
        text(area, title, 15, (8, 10), HPos::Left)?;
        for (index, (name, figure)) in bars.iter().enumerate() {
            let (top, bottom) = bar_place(index);
            let end = FROM + rounded(figure / longest * f64::from(TO - FROM));
            let is_ours = !has_others || name.starts_with(OURS);
            let colour = if is_ours { MET } else { OTHERS };
            rectangle(area, [(FROM, top), (end, bottom)], colour)?;
            text(area, name, 12, (FROM - 8, top + 3), HPos::Right)?;
            text(area, &amount(*figure), 12, (end + 8, top + 3), HPos::Left)?;
        }
        Ok(())
    })
}

/// How large a share of the times falls into each bin, on a logarithmic axis.
fn draw_histogram(title: &str, times: &Named<Vec<f64>>) -> Result<String, String> {
    let all = || times.iter().flat_map(|(_, times)| times).copied().filter(|time| *time > 0.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max) * 1.01);
    if low >= high {
        return Err(format!("{title}: there is nothing to draw"));
    }
    let width = (high / low).ln() / f64::from(BINS);
    let edge = |bin: u32| low * (f64::from(bin) * width).exp();
    let share = |times: &[f64], bin: u32| {
        let inside = times.iter().filter(|time| (edge(bin)..edge(bin + 1)).contains(time)).count();
        100.0 * count(inside) / count(times.len().max(1))
    };
    let lines = times.iter().map(|(name, times)| {
        let steps = (0..BINS).flat_map(|bin| {
            let share = share(times, bin);
            [(edge(bin), share), (edge(bin + 1), share)]
        });
        (name.as_str(), steps.collect())
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let top = lines.iter().flat_map(|(_, line)| line).map(|(_, share)| *share).fold(1.0, f64::max);
    svg(GRAPH_HEIGHT, |area| {
        let mut chart = chart_on(area, title)
            .build_cartesian_2d((low..high).log_scale(), 0.0..top * 1.1)
            .map_err(said)?;
        let mut mesh = chart.configure_mesh();
        mesh.y_label_formatter(&|share| format!("{share:.0} %")).x_label_formatter(&|x| amount(*x));
        mesh.light_line_style(TRANSPARENT).draw().map_err(said)?;
        draw_lines(&mut chart, &lines)
    })
}

/// Lines on two logarithmic axes, so that what grows with a power of the number is straight.
fn draw_growth(title: &str, lines: &Named<Vec<(f64, f64)>>) -> Result<String, String> {
    let all = || lines.iter().flat_map(|(_, line)| line);
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) = all()
            .map(of)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
        low * 0.8..high * 1.25
    };
    let (x, y) = (span(|(x, _)| *x), span(|(_, y)| *y));
    svg(GRAPH_HEIGHT, |area| {
        let mut chart = chart_on(area, title)
            .build_cartesian_2d(x.clone().log_scale(), y.clone().log_scale())
            .map_err(said)?;
        let mut mesh = chart.configure_mesh();
        mesh.y_label_formatter(&|y| amount(*y)).x_label_formatter(&|x| amount(*x));
        mesh.light_line_style(TRANSPARENT).draw().map_err(said)?;
        let lines: Vec<Line<'_>> =
            lines.iter().map(|(name, line)| (name.as_str(), line.clone())).collect();
        draw_lines(&mut chart, &lines)
    })
}

/// A line of a graph.
type Line<'a> = (&'a str, Vec<(f64, f64)>);

fn draw_lines<'a, X, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    lines: &[Line<'_>],
) -> Result<(), String>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    for (index, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2));
        chart.draw_series(line).map_err(said)?.label(*name).legend(sample);
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8));
    labels.label_font(("sans-serif", 12)).draw().map_err(said)
}

fn chart_on<'a, 'b>(area: &'a Area<'b>, title: &str) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut chart = ChartBuilder::on(area);
    chart.caption(title, ("sans-serif", 15)).margin(8).margin_right(24);
    chart.x_label_area_size(26).y_label_area_size(56);
    chart
}

/// Draws on a white area of this height; the SVG.
fn svg(height: u32, draw: impl FnOnce(&Area<'_>) -> Result<(), String>) -> Result<String, String> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE).map_err(said)?;
    draw(&area)?;
    area.present().map_err(said)?;
    drop(area);
    Ok(svg)
}

fn height_of(bars: usize) -> u32 {
    HEAD + BAR * u32::try_from(bars).unwrap_or_default() + 12
}

/// The top and the bottom of a bar.
fn bar_place(index: usize) -> (i32, i32) {
    let top = HEAD + BAR * u32::try_from(index).unwrap_or_default();
    let top = i32::try_from(top).unwrap_or_default();
    (top, top + 16)
}

fn rectangle(area: &Area<'_>, corners: [(i32, i32); 2], colour: RGBColor) -> Result<(), String> {
    area.draw(&Rectangle::new(corners, colour.filled())).map_err(said)
}

fn text(
    area: &Area<'_>,
    what: &str,
    size: i32,
    place: (i32, i32),
    anchor: HPos,
) -> Result<(), String> {
    let style = TextStyle::from(("sans-serif", size)).pos(Pos::new(anchor, VPos::Top));
    area.draw_text(what, &style, place).map_err(said)
}

/// With three digits that count.
fn amount(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1e6 => format!("{:.3} M", figure / 1e6),
        size if size >= 1e3 => format!("{:.1} k", figure / 1e3),
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 1.0 => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture of fixed size")]
fn rounded(pixels: f64) -> i32 {
    pixels.round() as i32
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold every count that a run can reach")]
fn count(of: usize) -> f64 {
    of as f64
}

fn said(error: impl Display) -> String {
    error.to_string()
}
