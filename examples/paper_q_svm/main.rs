//! stub
mod experiment;
fn main() {}
