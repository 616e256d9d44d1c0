//! What can be done to a ledger.

use proptest::prelude::*;

use super::weather::{HUGE, Weather, page, weather};

/// The budgets there may be besides "host".
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Charge(Ask),
    Reserve(Ask),
    /// Something that is held, by its place modulo how many there are.
    Touch(usize, Touch),
    /// The host changes; `None`: it cannot be read.
    Weather(Option<Weather>),
    Create {
        name: &'static str,
        terms: Terms,
    },
    Update {
        name: &'static str,
        change: Change,
    },
    Delete(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Touch {
    /// A pending charge is mapped; a reservation faulted in.
    Commit,
    /// A pending charge stays for somebody else.
    Keep,
    /// So many pages more of a charge are faulted in.
    AddResident(u64),
    /// So many pages of a charge are faulted in.
    SetResident(u64),
    /// A reservation lasts a year from now.
    Renew,
    Release,
}

/// A question for memory.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) budget: &'static str,
    pub(crate) rank: Option<u32>,
    /// The rank is meant as it is, not as the remainder by those the budget has.
    pub(crate) rank_as_is: bool,
    /// Which size of hugepages, of [`HUGE`].
    pub(crate) huge: Option<usize>,
    /// The nodes bound to.
    pub(crate) nodes: &'static [u32],
    /// Pages of that kind.
    pub(crate) pages: u64,
    /// How many bytes less than those pages are asked for.
    pub(crate) slack: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) requested: Option<u64>,
    /// In 64ths, so that whole numbers tell the part.
    pub(crate) fraction: Option<u64>,
    pub(crate) ranks: u32,
}

/// As [`BudgetChange`](hostpool_allocator::budget::BudgetChange), the fraction in 64ths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) reserve: Option<Option<u64>>,
    pub(crate) requested: Option<Option<u64>>,
    pub(crate) fraction: Option<Option<u64>>,
    pub(crate) closed: Option<Option<bool>>,
}

impl Ask {
    /// The bytes of one page of the kind.
    pub(crate) fn page(&self) -> u64 {
        self.huge.map_or(1, |size| HUGE[size]) * page()
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.pages * self.page()
    }

    /// With the rank meant, on a budget of so many.
    pub(crate) fn of_ranks(self, ranks: u32) -> Self {
        let rank = if ranks > 1 { Some(self.rank.unwrap_or(0) % ranks) } else { self.rank.and(Some(0)) };
        Self { rank: if self.rank_as_is { self.rank } else { rank }, ..self }
    }

    pub(crate) fn requested(&self) -> u64 {
        self.mapped() - self.slack % self.page()
    }
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![1 => Just("host"), 2 => Just("a"), 2 => Just("b"), 2 => Just("c")]
}

fn ask() -> impl Strategy<Value = Ask> {
    let budget = prop_oneof![3 => Just("host"), 4 => Just("a"), 4 => Just("b"), 1 => Just("c")];
    let huge = prop_oneof![2 => Just(None), 1 => (0..HUGE.len()).prop_map(Some)];
    let nodes: [(u32, &'static [u32]); 5] = [(30, &[]), (8, &[0]), (8, &[1]), (1, &[2]), (8, &[0, 1])];
    let nodes =
        prop::strategy::Union::new_weighted(nodes.map(|(weight, nodes)| (weight, Just(nodes))).to_vec());
    let rank = (prop::option::of(0..4_u32), prop::bool::weighted(0.1));
    let slack = prop_oneof![Just(0), any::<u64>()];
    (budget, rank, huge, nodes, 1..30_u64, slack).prop_map(
        |(budget, (rank, rank_as_is), huge, nodes, pages, slack)| {
            let pages = if huge.is_some() { pages.div_ceil(4) } else { pages };
            Ask { budget, rank, rank_as_is, huge, nodes, pages, slack }
        },
    )
}

/// In odd bytes: the edge inside a page is part of the rule. Seldom above what a budget may be.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![15 => 0..150 * page(), 5 => (0..150_u64).prop_map(|pages| pages * page()), 1 => (1_u64 << 53) - 1..=1 << 53]
}

/// Seldom none at all, or more than the whole.
fn fraction() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 1..=64_u64, 1 => Just(0), 1 => Just(65)]
}

fn terms() -> impl Strategy<Value = Terms> {
    let ranks = prop_oneof![20 => 1..4_u32, 1 => Just(0), 1 => Just(4097)];
    (prop::option::of(bytes()), prop::option::weighted(0.3, fraction()), ranks)
        .prop_map(|(requested, fraction, ranks)| Terms { requested, fraction, ranks })
}

fn change() -> impl Strategy<Value = Change> {
    let maybe_bytes = |likely| prop::option::weighted(likely, prop::option::of(bytes()));
    let fraction = prop::option::weighted(0.2, prop::option::of(fraction()));
    // Mostly open: a closed budget answers one thing only.
    let closed = prop_oneof![5 => Just(None), 1 => Just(Some(Some(true))), 4 => Just(Some(Some(false))), 2 => Just(Some(None))];
    (maybe_bytes(0.2), maybe_bytes(0.5), fraction, closed)
        .prop_map(|(reserve, requested, fraction, closed)| Change { reserve, requested, fraction, closed })
}

fn touch() -> impl Strategy<Value = Touch> {
    prop_oneof![
        5 => Just(Touch::Commit),
        1 => Just(Touch::Keep),
        4 => (1..20_u64).prop_map(Touch::AddResident),
        2 => (0..20_u64).prop_map(Touch::SetResident),
        1 => Just(Touch::Renew),
        6 => Just(Touch::Release),
    ]
}

/// Mostly some budgets first.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let made = |name| terms().prop_map(move |terms| Step::Create { name, terms });
    (made("a"), made("b"), prop::collection::vec(step(), 1..120))
        .prop_map(|(a, b, steps)| [a, b].into_iter().chain(steps).collect())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => ask().prop_map(Step::Charge),
        5 => ask().prop_map(Step::Reserve),
        19 => (any::<usize>(), touch()).prop_map(|(which, touch)| Step::Touch(which, touch)),
        4 => prop::option::weighted(0.9, weather()).prop_map(Step::Weather),
        4 => (name(), terms()).prop_map(|(name, terms)| Step::Create { name, terms }),
        2 => (name(), change()).prop_map(|(name, change)| Step::Update { name, change }),
        1 => name().prop_map(Step::Delete),
    ]
}
