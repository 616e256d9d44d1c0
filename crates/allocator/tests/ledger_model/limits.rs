//! What a charge is measured against, added up from the start.

use hostpool_allocator::MemoryLimit;

use super::model::{Live, Model};
use super::step::Ask;
use super::weather::{HUGE, Node, Weather, page};

/// What a question comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) limited_by: MemoryLimit,
    pub(crate) available: u64,
    pub(crate) hugepages_free: Option<u64>,
    pub(crate) fits: bool,
}

impl Model {
    pub(crate) fn answer(&self, weather: &Weather, ask: &Ask) -> Answer {
        let limits = self.limits(weather, ask);
        let least = limits.iter().map(|(_, bytes)| *bytes).min().unwrap();
        let (limited_by, available) = *limits.iter().find(|(_, bytes)| *bytes == least).unwrap();
        // A limit that ends inside a page holds that page, for one who asks for no more than the limit.
        let last_page = available.div_ceil(page()) * page();
        let fits = ask.mapped() <= available || (ask.requested() <= available && ask.mapped() <= last_page);
        let hugepages_free = ask.huge.map(|size| self.hugepages_free(weather, size, ask.nodes));
        Answer { limited_by, available, hugepages_free, fits }
    }

    /// Every limit that applies, the most specific first.
    fn limits(&self, weather: &Weather, ask: &Ask) -> Vec<(MemoryLimit, u64)> {
        let mut limits = Vec::new();
        let budget = self.budget(ask.budget).unwrap();
        if let Some(size) = budget.size {
            if budget.ranks > 1 {
                let rank = usize::try_from(ask.rank.unwrap()).unwrap();
                let left = budget.share(rank).saturating_sub(self.charged_to_rank(ask.budget, rank));
                limits.push((MemoryLimit::RankShare, left));
            }
            limits.push((MemoryLimit::BudgetCap, size.saturating_sub(self.charged_to(ask.budget))));
        }
        limits.extend(self.left_of_host_cap(weather).map(|left| (MemoryLimit::BudgetCap, left)));
        if !ask.nodes.is_empty() {
            limits.push((MemoryLimit::NumaNode, self.on_nodes(weather, ask.huge, ask.nodes)));
        }
        limits.push(match ask.huge {
            None => self.ordinary(weather),
            Some(size) => {
                (MemoryLimit::Hugepages, self.hugepages_free(weather, size, &[]) * HUGE[size] * page())
            }
        });
        limits
    }

    /// What the host still has on ordinary pages, above its reserve and every promise; below zero what it lacks.
    pub(crate) fn balance(&self, weather: &Weather) -> i128 {
        let available = weather.cgroup.map_or(u64::MAX, |(_, available)| available).min(weather.available);
        let unfaulted = self.hidden(|live| live.ask.huge.is_none());
        i128::from(available) - i128::from(self.reserve) - i128::from(unfaulted)
    }

    pub(crate) fn ordinary(&self, weather: &Weather) -> (MemoryLimit, u64) {
        let in_cgroup = weather.cgroup.is_some_and(|(_, available)| available < weather.available);
        let limit = if in_cgroup { MemoryLimit::Cgroup } else { MemoryLimit::HostMemory };
        (limit, u64::try_from(self.balance(weather)).unwrap_or(0))
    }

    /// The least of the bytes and the part of the whole machine (or its cgroup) that all budgets may hold.
    pub(crate) fn host_cap(&self, weather: &Weather) -> Option<u64> {
        let total = weather.cgroup.map_or(u64::MAX, |(limit, _)| limit).min(weather.total);
        let part = self.host.fraction.map(|part| total * part / 64);
        [self.host.requested, part].into_iter().flatten().min()
    }

    pub(crate) fn left_of_host_cap(&self, weather: &Weather) -> Option<u64> {
        self.host_cap(weather).map(|cap| cap.saturating_sub(self.charged_to("host")))
    }

    fn hidden(&self, of: impl Fn(&Live) -> bool) -> u64 {
        self.live.iter().filter(|live| of(live)).map(Live::hidden).sum()
    }

    fn hidden_on_nodes(&self, huge: Option<usize>, on: impl Fn(u32) -> bool) -> u64 {
        let is_there = |live: &&Live| live.ask.huge == huge && live.ask.nodes.iter().any(|node| on(*node));
        let bound = self.live.iter().filter(is_there);
        bound.map(Live::hidden_on_node).sum()
    }

    fn on_nodes(&self, weather: &Weather, huge: Option<usize>, nodes: &[u32]) -> u64 {
        match huge {
            Some(size) => self.hugepages_on(weather, size, nodes) * HUGE[size] * page(),
            None => nodes.iter().map(|id| self.ordinary_on(weather, *id)).sum(),
        }
    }

    fn ordinary_on(&self, weather: &Weather, id: u32) -> u64 {
        let node = weather.nodes.get(usize::try_from(id).unwrap());
        let takeable = node.map_or(0, |node| (node.free + node.file).saturating_sub(node.total / 64));
        takeable.saturating_sub(self.hidden_on_nodes(None, |on| on == id))
    }

    /// Pages of a size that a new mapping can count on, on nodes when some are named.
    fn hugepages_free(&self, weather: &Weather, size: usize, nodes: &[u32]) -> u64 {
        let (free, reserved) = weather.hugepages[size];
        let promised = self.hidden(|live| live.ask.huge == Some(size)) / (HUGE[size] * page());
        let machine = free.saturating_sub(reserved).saturating_sub(promised);
        if nodes.is_empty() { machine } else { machine.min(self.hugepages_on(weather, size, nodes)) }
    }

    /// Those free there, less those promised there and not faulted in, less what others have reserved and the other
    /// nodes cannot serve.
    fn hugepages_on(&self, weather: &Weather, size: usize, nodes: &[u32]) -> u64 {
        let hidden = |on: &dyn Fn(u32) -> bool| self.hidden_on_nodes(Some(size), on) / (HUGE[size] * page());
        let free_on = |node: &Node| node.hugepages[size];
        let free = |id: u32| weather.nodes.get(usize::try_from(id).unwrap()).map_or(0, free_on);
        let here: u64 = nodes.iter().map(|id| free(*id)).sum();
        let all: u64 = weather.nodes.iter().map(free_on).sum();
        let of_others = weather.hugepages[size].1.saturating_sub(hidden(&|_| true));
        let not_served_elsewhere = of_others.saturating_sub(all - here);
        let unpromised: u64 = nodes.iter().map(|id| free(*id).saturating_sub(hidden(&|on| on == *id))).sum();
        unpromised.saturating_sub(not_served_elsewhere)
    }
}
