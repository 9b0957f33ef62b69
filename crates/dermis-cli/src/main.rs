//! dermis
fn main() {}
