//! A PersistentVolumeClaim and its PersistentVolume, drawn with the line between them.

use super::Markup;

/// The line between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum PairLine {
    /// They are bound.
    Bound,
    /// They will be, or may be.
    Coming,
    /// They are not, and will not be without help.
    Broken,
}

/// A pair of which one end may be missing.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct DrawnPair<'a> {
    /// The claim, as `NAMESPACE/NAME`.
    pub claim: Option<&'a str>,
    /// The volume.
    pub volume: Option<&'a str>,
    /// The line.
    pub line: PairLine,
    /// What is written at the line.
    pub state: &'a str,
}

impl DrawnPair<'_> {
    /// The drawing. Its words say all that its lines and colours say.
    pub(in crate::cli) fn markup(&self) -> Markup {
        let mut out = Markup::default();
        out.raw("<span class=\"pair ").raw(match self.line {
            PairLine::Bound => "whole",
            PairLine::Coming => "coming",
            PairLine::Broken => "broken",
        });
        out.raw("\">");
        end(&mut out, "PVC", self.claim);
        out.raw(" <span class=\"line\">").text(self.state).raw("</span> ");
        end(&mut out, "PV", self.volume);
        out.raw("</span>");
        out
    }
}

fn end(out: &mut Markup, kind: &'static str, name: Option<&str>) {
    match name {
        Some(name) => {
            out.raw("<span class=\"end\"><b>").raw(kind).raw("</b> ").text(name).raw("</span>")
        }
        None => out.raw("<span class=\"end none\">no ").raw(kind).raw("</span>"),
    };
}
