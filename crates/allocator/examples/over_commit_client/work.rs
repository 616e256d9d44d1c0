//! What a client does: ask, fault in, hold, give back.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use memmap2::MmapMut;
use serde_json::{Value, json};

use crate::Outcome;
use crate::graphql::Endpoint;
use crate::told::{tell, tell_surprise};

const MIB: u64 = 1 << 20;
const PAGE: usize = 4096;

const RESERVE: &str = "mutation($input: ReserveHostMemoryInput!) { reserveHostMemory(input: $input) {
    __typename ... on Reservation { id } ... on BudgetExceeded { availableBytes } ... on HostPoolError { message } } }";
const COMMIT: &str = "mutation($id: ID!) { commitReservation(id: $id) {
    __typename ... on HostPoolError { message } } }";
const RELEASE: &str = "mutation($id: ID!) { releaseReservation(id: $id) {
    __typename ... on HostPoolError { message } } }";
const CREATE: &str = "mutation($input: CreateV4PagedPoolInput!) { createV4PagedPool(input: $input) {
    __typename ... on V4PagedHostPool { id } ... on HostBufferAllocationFailed { reason }
    ... on HostPoolError { message } } }";
const DESTROY: &str =
    "mutation($id: ID!) { destroyPool(id: $id) { __typename ... on HostPoolError { message } } }";

pub(crate) struct Client {
    endpoint: Endpoint,
    random: Random,
    sizes_mib: RangeInclusive<u64>,
    pools: u64,
}

/// A reservation and the memory mapped for it.
struct Held {
    id: String,
    bytes: u64,
    memory: Option<MmapMut>,
}

impl Client {
    pub(crate) fn new(endpoint: Endpoint, seed: u64, sizes_mib: RangeInclusive<u64>) -> Self {
        Self { endpoint, random: Random(seed), sizes_mib, pools: 0 }
    }

    /// Until told to stop. Returns with nothing held.
    pub(crate) fn run(&mut self, stop: &AtomicBool) -> Outcome<()> {
        while !stop.load(Ordering::Relaxed) {
            let bytes = self.random.among(&self.sizes_mib) * MIB;
            if self.random.one_in(5) { self.pool(bytes)? } else { self.reservations(bytes, stop)? }
        }
        Ok(())
    }

    /// Memory of its own, in one part or two.
    fn reservations(&mut self, bytes: u64, stop: &AtomicBool) -> Outcome<()> {
        let first = if self.random.one_in(3) { bytes / 3 / MIB * MIB } else { bytes };
        let mut held = Vec::new();
        for part in [first, bytes - first].into_iter().filter(|part| *part > 0) {
            let Some(mut granted) = self.until_granted(part, stop)? else { break };
            self.use_it(&mut granted)?;
            held.push(granted);
        }
        self.pause(200..=1000);
        held.into_iter().try_for_each(|held| self.give_back(held))
    }

    /// Asks until there is a grant; now and then for exactly what a refusal says is there.
    fn until_granted(&mut self, bytes: u64, stop: &AtomicBool) -> Outcome<Option<Held>> {
        let mut wanted = bytes;
        while !stop.load(Ordering::Relaxed) {
            let input = json!({ "bytes": wanted, "holder": "over-commit", "pid": std::process::id() });
            let answer = self.endpoint.ask(RESERVE, &json!({ "input": input }))?;
            if let Some(id) = answer.get("id").and_then(Value::as_str) {
                tell("granted", id, wanted);
                return Ok(Some(Held { id: id.to_owned(), bytes: wanted, memory: None }));
            }
            let Some(available) = answer.get("availableBytes").and_then(Value::as_u64) else {
                tell_surprise(&answer);
                return Ok(None);
            };
            tell("refused", "", wanted);
            wanted = if self.random.one_in(2) && available >= 4 * MIB { available } else { bytes };
            self.pause(20..=100);
        }
        Ok(None)
    }

    /// Faults it in page by page, as engines do. Held on it may drop the memory and fault it in anew: the promise stands.
    fn use_it(&mut self, held: &mut Held) -> Outcome<()> {
        held.fault_in()?;
        if self.random.one_in(3) {
            let answer = self.endpoint.ask(COMMIT, &json!({ "id": held.id }))?;
            expect(&answer, "Reservation");
            return Ok(());
        }
        while !self.random.one_in(3) {
            self.pause(50..=250);
            tell("dropped", &held.id, held.bytes);
            held.memory = None;
            self.pause(20..=300);
            held.fault_in()?;
        }
        Ok(())
    }

    fn give_back(&self, mut held: Held) -> Outcome<()> {
        tell("released", &held.id, held.bytes);
        held.memory = None;
        expect(&self.endpoint.ask(RELEASE, &json!({ "id": held.id }))?, "Reservation");
        Ok(())
    }

    /// Memory of the server's, faulted in there.
    fn pool(&mut self, bytes: u64) -> Outcome<()> {
        self.pools += 1;
        let backing = if self.random.one_in(2) { "ANONYMOUS" } else { "ANONYMOUS_SHM" };
        let input = json!({
            "name": format!("client-{}-{}", std::process::id(), self.pools), "layerNum": 2,
            "numHostPages": bytes / MIB / 2, "itemBytes": MIB, "slotPageSize": 64, "memory": { "backing": backing },
        });
        let answer = self.endpoint.ask(CREATE, &json!({ "input": input }))?;
        let Some(id) = answer.get("id").and_then(Value::as_str) else {
            self.no_pool(&answer, bytes);
            return Ok(());
        };
        let bytes = bytes / MIB / 2 * 2 * MIB;
        tell("granted", id, bytes);
        self.pause(50..=300);
        tell("released", id, bytes);
        expect(&self.endpoint.ask(DESTROY, &json!({ "id": id }))?, "PoolDestroyed");
        Ok(())
    }

    /// Refused; or given back, when the small change of all the processes had eaten the reserve before it was faulted in.
    fn no_pool(&mut self, answer: &Value, bytes: u64) {
        let given_back = answer.get("reason").and_then(Value::as_str) == Some("CGROUP_LIMIT");
        if given_back || expect(answer, "InsufficientHostMemory") {
            tell("refused", "", bytes);
        }
        self.pause(20..=100);
    }

    fn pause(&mut self, ms: RangeInclusive<u64>) {
        sleep(Duration::from_millis(self.random.among(&ms)));
    }
}

impl Held {
    fn fault_in(&mut self) -> Outcome<()> {
        let mut memory = MmapMut::map_anon(usize::try_from(self.bytes)?)?;
        memory.chunks_mut(PAGE).filter_map(<[u8]>::first_mut).for_each(|byte| *byte = 1);
        self.memory = Some(memory);
        tell("faulted", &self.id, self.bytes);
        Ok(())
    }
}

/// Whether an answer is of that type. Another one is told: that is for the reader to judge, not an error.
fn expect(answer: &Value, typename: &str) -> bool {
    let expected = answer.get("__typename").and_then(Value::as_str) == Some(typename);
    if !expected {
        tell_surprise(answer);
    }
    expected
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn among(&mut self, range: &RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}
