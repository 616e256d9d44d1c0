//! What the client tells its reader.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// One line. A line is written at once and whole: the process may be killed after any of them.
pub(crate) fn tell(event: &str, id: &str, bytes: u64) {
    print(&json!({ "at": now_ms(), "event": event, "id": id, "bytes": bytes }));
}

/// An answer that the client has no use for.
pub(crate) fn tell_surprise(answer: &Value) {
    print(&json!({ "at": now_ms(), "event": "surprise", "answer": answer }));
}

fn print(line: &Value) {
    println!("{line}");
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1e3)
}
