//! Tells the linker what a Node addon needs; nothing without the feature `napi`.

fn main() {
    #[cfg(feature = "napi")]
    napi_build::setup();
}
