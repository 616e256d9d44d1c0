//! Moments that mean the same to the next process: the monotonic clock goes on until the machine is started again.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// `at` on CLOCK_MONOTONIC, the clock of [`Instant`], counted from the boot.
#[must_use]
pub fn since_boot(at: Instant) -> Duration {
    let (now, boot) = (Instant::now(), now_since_boot());
    match at.checked_duration_since(now) {
        Some(ahead) => boot.saturating_add(ahead),
        None => boot.saturating_sub(now.duration_since(at)),
    }
}

/// The moment so long after the boot; now, when that is past.
#[must_use]
pub fn instant_at(since_boot: Duration) -> Instant {
    Instant::now() + since_boot.saturating_sub(now_since_boot())
}

/// What names this boot of the machine (random(4)).
///
/// # Errors
/// When the kernel does not say.
pub fn boot_id() -> std::io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn now_since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_survives_the_way_there_and_back() {
        let at = Instant::now() + Duration::from_secs(100);
        let back = instant_at(since_boot(at));
        let apart = back.max(at).duration_since(back.min(at));
        assert!(apart < Duration::from_secs(1), "{apart:?}");
    }

    #[test]
    fn what_is_past_is_now() {
        assert!(instant_at(Duration::ZERO) <= Instant::now());
    }
}
