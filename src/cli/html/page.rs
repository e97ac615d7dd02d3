//! The page around a report: head, policy, summary, sections and notes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;

use super::Markup;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How a number or a word is marked, as a report on a terminal is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Tone {
    /// Somebody has to act.
    Error,
    /// Somebody should look.
    Warning,
    /// Only to be known.
    Note,
    /// As it should be.
    Good,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::Good => "good",
        }
    }

    /// A word with this mark.
    pub(in crate::cli) fn badge(self, word: &str) -> Markup {
        let mut out = Markup::default();
        out.raw("<span class=\"badge ").raw(self.class()).raw("\">").text(word).raw("</span>");
        out
    }
}

/// A page.
#[derive(Clone, Debug)]
pub(in crate::cli) struct HtmlPage {
    title: &'static str,
    subtitle: String,
    tiles: Markup,
    links: Markup,
    sections: Markup,
}

impl HtmlPage {
    /// An empty page with the sentence that sums the report up.
    pub(in crate::cli) fn new(title: &'static str, subtitle: &str) -> Self {
        let (tiles, links, sections) = Default::default();
        Self { title, subtitle: subtitle.to_owned(), tiles, links, sections }
    }

    /// Adds a number to the summary.
    pub(in crate::cli) fn tile(&mut self, tone: Tone, value: &str, label: &str) {
        self.tiles.raw("<li class=\"").raw(tone.class()).raw("\"><strong>").text(value);
        self.tiles.raw("</strong> ").text(label).raw("</li>");
    }

    /// Adds a section unless it is empty.
    pub(in crate::cli) fn section(
        &mut self,
        id: &'static str,
        heading: &'static str,
        body: &Markup,
    ) {
        if body.is_empty() {
            return;
        }
        self.links.raw("<li><a href=\"#").raw(id).raw("\">").raw(heading).raw("</a></li>");
        self.sections.raw("<section aria-labelledby=\"").raw(id).raw("\"><h2 id=\"").raw(id);
        self.sections.raw("\">").raw(heading).raw("</h2>\n").add(body).raw("</section>\n");
    }

    /// Adds the limits of the report.
    pub(in crate::cli) fn notes(&mut self, notes: &[String]) {
        let mut body = Markup::default();
        for note in notes {
            body.raw("<p class=\"note\">").text(note).raw("</p>");
        }
        self.section("limits", "Limits of this report", &body);
    }

    /// The file, written at `now`.
    pub(in crate::cli) fn finish(self, now: Timestamp) -> String {
        let Self { title, subtitle, tiles, links, sections } = self;
        let mut out = Markup::default();
        out.raw("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head>");
        out.raw("<meta charset=\"utf-8\"/><meta http-equiv=\"Content-Security-Policy\" content=\"");
        out.text(&policy()).raw("\"/>\n<meta name=\"viewport\" content=\"width=device-width, ");
        out.raw("initial-scale=1\"/><meta name=\"color-scheme\" content=\"light dark\"/>");
        out.raw("<meta name=\"referrer\" content=\"no-referrer\"/><title>").raw(title);
        out.raw("</title>\n<style>").raw(STYLE).raw("</style></head>\n<body>");
        out.raw("<a class=\"skip\" href=\"#report\">To the report</a>\n<header><h1>").raw(title);
        out.raw("</h1><p class=\"summary\">").text(&subtitle).raw("</p>");
        if !tiles.is_empty() {
            out.raw("<ul class=\"tiles\">").add(&tiles).raw("</ul>");
        }
        if !links.is_empty() {
            out.raw("<nav aria-label=\"Sections\"><ul>").add(&links).raw("</ul></nav>");
        }
        out.raw("</header>\n<main id=\"report\">\n").add(&sections).raw("</main>\n<footer>");
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        out.raw("Written by bindery ").raw(env!("CARGO_PKG_VERSION"));
        out.raw(" at <time datetime=\"").text(&time).raw("\">").text(&time).raw("</time>. ");
        out.raw("This file loads nothing and sends nothing.</footer>\n<script>");
        out.raw(SCRIPT).raw("</script></body></html>\n");
        out.into_string()
    }
}

/// What the page may load: its own style and its own script, which are known by their hashes; nothing else, from
/// nowhere.
///
/// W3C, "Content Security Policy Level 3".
fn policy() -> String {
    let [style, script] = [STYLE, SCRIPT].map(sha256);
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
}

/// The SHA-256 of a text in base64. It is that of the TLS library: there is no other in the program.
fn sha256(text: &str) -> String {
    let suite = TLS13_AES_128_GCM_SHA256.tls13();
    let hash = suite.map(|suite| suite.common.hash_provider.hash(text.as_bytes()));
    hash.map(|hash| BASE64_STANDARD.encode(hash.as_ref())).unwrap_or_default()
}
