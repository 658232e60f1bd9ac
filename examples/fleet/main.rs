//! stub
mod args; mod brokers; mod client; mod dice; mod figures; mod naive; mod record; mod scenario; mod world;
fn main() {
    let a = args::parse(std::env::args().skip(1)).unwrap().unwrap();
    let t = std::time::Instant::now();
    let n = naive::outage(&a.settings);
    println!("naive peak {} back {:?} {:?}", n.dials.peak(), figures::Back::of(n.back), t.elapsed());
    let t = std::time::Instant::now();
    let o = scenario::outage(&a.settings);
    println!("{o:?} {:?} {}", t.elapsed(), figures::ideal_p99(a.settings.clients, a.settings.accept_rate));
    let t = std::time::Instant::now();
    println!("{:?} {:?}", scenario::rolling_restart(&a.settings), t.elapsed());
    let t = std::time::Instant::now();
    println!("{:?} {:?}", scenario::failback(&a.settings), t.elapsed());
}
