//! A cell of the matrix: which write meets what, and what the next process sees of it.

use std::fmt;

/// What becomes of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process dies before it is sent.
    DiesBefore,
    /// It lands, and the process dies before the reply comes.
    DiesUnanswered,
    /// It lands, the reply comes, and the process dies before it sends anything else.
    DiesAnswered,
    /// Another client has written the object just before: 409.
    Conflict,
    /// 500; nothing was written.
    Failure,
    /// It lands, and no reply ever comes.
    Unanswered,
    /// 429; nothing was written.
    Busy,
}

impl Fate {
    /// All of them.
    pub(super) const ALL: [Self; 7] = [
        Self::DiesBefore,
        Self::DiesUnanswered,
        Self::DiesAnswered,
        Self::Conflict,
        Self::Failure,
        Self::Unanswered,
        Self::Busy,
    ];

    /// Returns whether another process goes on.
    pub(super) fn is_crash(self) -> bool {
        match self {
            Self::DiesBefore | Self::DiesUnanswered | Self::DiesAnswered => true,
            Self::Conflict | Self::Failure | Self::Unanswered | Self::Busy => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::DiesBefore => "dies-before",
            Self::DiesUnanswered => "dies-unanswered",
            Self::DiesAnswered => "dies-answered",
            Self::Conflict => "conflict",
            Self::Failure => "failure",
            Self::Unanswered => "unanswered",
            Self::Busy => "busy",
        }
    }
}

/// Objects whose watch may stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Volumes,
    Claims,
}

/// What the process sees that goes on after the write, until it has led for a while: the process itself, or after
/// a crash its successor. A list is never old, so that a successor whose view is to be has waited for the
/// lead, with its watches open, since before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Everything; a successor starts after the crash, and lists.
    Fresh,
    /// These objects as they were just before the write.
    Behind(Side),
    /// These objects as they were before users did what the controller answers to. Of a successor only: the
    /// process itself has seen that.
    Before(Side),
    /// These objects as they were before the controller did anything. Of a successor only: a process
    /// knows the replies to its own writes.
    Old(Side),
    /// Nothing of what happens from the write on, not even later: not before it lists again.
    Missed,
}

impl Sight {
    /// All that go with a fate.
    pub(super) fn of(fate: Fate) -> &'static [Self] {
        const ALL: [Sight; 8] = [
            Sight::Fresh,
            Sight::Behind(Side::Volumes),
            Sight::Behind(Side::Claims),
            Sight::Missed,
            Sight::Before(Side::Volumes),
            Sight::Before(Side::Claims),
            Sight::Old(Side::Volumes),
            Sight::Old(Side::Claims),
        ];
        if fate.is_crash() { &ALL } else { &ALL[..4] }
    }

    /// Returns whether it hides what users did while processes ran.
    pub(super) fn is_act(self) -> bool {
        match self {
            Self::Before(_) => true,
            Self::Fresh | Self::Behind(_) | Self::Missed | Self::Old(_) => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Behind(Side::Volumes) => "volumes-behind",
            Self::Behind(Side::Claims) => "claims-behind",
            Self::Before(Side::Volumes) => "volumes-before",
            Self::Before(Side::Claims) => "claims-before",
            Self::Old(Side::Volumes) => "volumes-old",
            Self::Old(Side::Claims) => "claims-old",
            Self::Missed => "missed",
        }
    }
}

/// The fate of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strike {
    /// Which write: counted from one, after an earlier strike from there.
    pub(super) at: usize,
    pub(super) fate: Fate,
    pub(super) sight: Sight,
}

/// One run with faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The name of the decision path.
    pub(super) path: String,
    /// One, or a pair.
    pub(super) strikes: Vec<Strike>,
}

impl Cell {
    /// The cell of this name, as [`fmt::Display`] spells it.
    pub(super) fn parse(text: &str) -> Self {
        let (path, strikes) = text.split_once('/').expect("PATH/WRITE/FATE/SIGHT");
        Self { path: path.to_owned(), strikes: strikes.split('+').map(strike).collect() }
    }
}

fn strike(text: &str) -> Strike {
    let parts: Vec<&str> = text.split('/').collect();
    let [at, fate, sight] = parts[..] else { panic!("{text} is not WRITE/FATE/SIGHT") };
    let fate = Fate::ALL.into_iter().find(|one| one.name() == fate).expect("a fate");
    let sight = Sight::of(fate).iter().find(|one| one.name() == sight).expect("a sight");
    Strike { at: at.parse().expect("a number"), fate, sight: *sight }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path)?;
        for (number, Strike { at, fate, sight }) in self.strikes.iter().enumerate() {
            let separator = if number == 0 { '/' } else { '+' };
            write!(formatter, "{separator}{at}/{}/{}", fate.name(), sight.name())?;
        }
        Ok(())
    }
}

#[test]
fn a_cell_is_read_as_it_is_written() {
    let strikes: Vec<Strike> = Fate::ALL
        .into_iter()
        .flat_map(|fate| {
            Sight::of(fate).iter().map(move |sight| Strike { at: 3, fate, sight: *sight })
        })
        .collect();
    assert_eq!(strikes.len(), 3 * 8 + 4 * 4);
    for (one, other) in strikes.iter().zip(strikes.iter().rev()) {
        let pair = Cell { path: "a-path".to_owned(), strikes: vec![*one, *other] };
        assert_eq!(Cell::parse(&pair.to_string()), pair);
    }
}
