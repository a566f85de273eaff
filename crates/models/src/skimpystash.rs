//! `SkimpyStash` in closed form: column `SStash` of Table 5.

use super::Costs;
use super::setting::Setting;

/// The costs of `SkimpyStash` with chains of `chain_len` (kss) records in each hash bucket. A
/// lookup reads half a chain. An entry is written once. RAM holds five bytes for each bucket, a
/// byte of a filter for each record, and two pages.
pub fn costs(setting: &Setting, chain_len: u32) -> Costs {
    let (n, chain) = (f64::from(setting.keys), f64::from(chain_len));
    let pages = f64::from(setting.keys.div_ceil(setting.entries_per_page()));
    Costs {
        r_pages: chain / 2.0,
        ir_pages: 0.0,
        w_pages: pages,
        ram_kb: (n + 5.0 * n / chain) / 1024.0 + setting.buffers_kb(2),
        vp_pages: pages,
        op_pages: 0.0,
    }
}
