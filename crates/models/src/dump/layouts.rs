//! The layout of a growing `PBFilter`, page by page, compared with the closed form; and the
//! expected reads.

use super::Entries;
use super::comparison::{hashed_rate, published};
use crate::bloom::false_positive_rate;
use crate::expected::{Reads, reads};
use crate::layout::{Flush, Layout};
use crate::pbfilter::{PbFilter, SummaryPages, Tuning};
use crate::setting::Setting;

const SIZES: [u32; 5] = [100_000, 1_000_000, 2_000_000, 2_500_000, 7_000_000];
const READ_SIZES: [u32; 8] =
    [100_000, 500_000, 1_000_000, 2_000_000, 2_500_000, 3_000_000, 5_000_000, 7_000_000];

pub(super) fn put(entries: &mut Entries) {
    for (name, tuning) in [("PBF1", Tuning::PUBLISHED), ("PBF2", Tuning::MORE_PARTITIONS)] {
        for (unit, flush) in [("sector", Flush::Sector), ("page", Flush::Page)] {
            for keys in SIZES {
                let index = PbFilter::new(Setting::published(keys), tuning, SummaryPages::ByKeys);
                let place = format!("sim/{name} {unit}/N={keys}");
                entries.put_fields(&place, &Layout::grow(&index, flush));
                entries.put(format!("{place}/closed form W"), index.w_pages());
                entries.put(format!("{place}/closed form IR"), index.erasable_pages);
                entries.put(format!("{place}/closed form VP"), index.vp_pages());
                entries.put(format!("{place}/closed form OP"), index.erasable_pages);
            }
        }
    }
    for bits_per_key in [12, 24] {
        for keys in [1_000_000, 5_000_000] {
            put_readings_of_pages(entries, bits_per_key, keys);
        }
    }
    put_reads(entries);
}

/// If M d is not a power of two, the simulated layout shows which count of the summary's pages is
/// right.
fn put_readings_of_pages(entries: &mut Entries, bits_per_key: u32, keys: u32) {
    let tuning = Tuning { bits_per_key, ..Tuning::PUBLISHED };
    let index = |pages| PbFilter::new(Setting::published(keys), tuning, pages);
    let taken = index(SummaryPages::ByKeys);
    let place = format!("sim/d={bits_per_key}/N={keys}");
    let layout = Layout::grow(&taken, Flush::Sector);
    entries.put(format!("{place}/W_pages"), f64::from(layout.w_pages));
    entries.put(format!("{place}/W closed consistent"), taken.w_pages());
    entries.put(format!("{place}/W closed printed"), index(SummaryPages::ByKeyPages).w_pages());
}

fn put_reads(entries: &mut Entries) {
    let nominal = false_positive_rate(16.0, 7);
    let of = |keys: u32, rate: f64| expected(&published(keys), rate);
    for keys in READ_SIZES {
        let (place, found) = (format!("exactR/N={keys}"), of(keys, nominal));
        let without = format!("{place}/present, without the true KA read");
        entries.put(without, found.present_without_key_page);
        entries.put(format!("{place}/present"), found.present);
        let hashed = of(keys, hashed_rate()).present;
        entries.put(format!("{place}/present, f of 4 hashed buckets"), hashed);
        entries.put(format!("{place}/absent"), found.absent);
    }
    let around = (900_000..=1_100_000).step_by(2_500);
    let (mut sum, mut count) = (0.0, 0.0);
    for keys in around {
        sum += of(keys, nominal).present;
        count += 1.0;
    }
    entries.put("exactR/mean N=0.9..1.1M/present", sum / count);
    let tuning = Tuning { bits_per_key: 24, hash_count: 4, ..Tuning::PUBLISHED };
    let large = PbFilter::new(Setting::published(5_000_000), tuning, SummaryPages::ByKeys);
    entries.put(
        "exactR/N=5M d=24 k=4/without true KA read",
        expected(&large, false_positive_rate(24.0, 4)).present_without_key_page,
    );
}

fn expected(index: &PbFilter, rate: f64) -> Reads {
    reads(index, &Layout::grow(index, Flush::Sector), rate)
}
