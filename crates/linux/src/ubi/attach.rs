//! Attaching: the headers of the PEBs are read to find out which PEB holds which LEB.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use flysch_chip::Recorder;
use flysch_nand::is_erased;

use super::fastmap::ANCHORS_END;
use super::format::{
    EcHeader, FASTMAP_VOLUME, Found, HEADER_SIZE, LAYOUT_VOLUME, RECORD_SIZE, VidHeader, crc32,
    parse_table, record_count,
};
use super::wear::{State, Wear};
use super::{AttachError, AttachOptions, Layout, Ubi};
use crate::mtd::{Partition, ReadQuality};

/// A PEB whose VID header says that it holds a LEB.
pub(super) struct Claim {
    pub peb: u32,
    pub vid: VidHeader,
}

/// What the scan of the headers has found.
#[derive(Default)]
pub(super) struct Scan {
    pub claims: BTreeMap<(u32, u32), Claim>,
    pub free: Vec<u32>,
    pub erase: Vec<u32>,
    pub keep: Vec<u32>,
    pub scrub: Vec<u32>,
    pub counts: BTreeMap<u32, u64>,
    /// Whether some VID header is neither valid nor blank.
    pub is_unclear: bool,
    /// PEBs that belong to fastmaps, whether valid or not.
    pub fastmaps: Vec<Claim>,
}

impl Scan {
    pub(super) fn newest_anchor(&self) -> Option<u32> {
        let anchors = self.fastmaps.iter().filter(|claim| claim.vid.volume == FASTMAP_VOLUME);
        anchors.max_by_key(|claim| claim.vid.sequence).map(|claim| claim.peb)
    }
}

/// The two headers of a PEB, and how well the VID header could be read.
type Headers = (Found<EcHeader>, Found<VidHeader>, ReadQuality);

impl Ubi {
    /// Attach a partition. The headers of all PEBs are read, which costs one or two page reads for
    /// each. If there is a fastmap, only the first 64 PEBs, the fastmap itself and the PEBs of its
    /// pools are read.
    pub fn attach(
        mtd: Partition,
        recorder: &Recorder,
        options: AttachOptions,
    ) -> Result<Self, AttachError> {
        let _scope = recorder.scope("ubi_attach");
        let mut ubi = Self::bare(mtd, recorder.clone(), options.wear_threshold)?;
        let scan = ubi.scan()?;
        if scan.claims.is_empty() {
            return Err(AttachError::NotUbi);
        }
        ubi.adopt(scan)?;
        ubi.volume = options.volume;
        ubi.leb_count = ubi.read_table(options.volume)?;
        ubi.forget_strangers();
        if options.fastmap {
            ubi.start_fastmap();
        }
        ubi.ensure_levelling();
        Ok(ubi)
    }

    /// A device whose PEBs have not been looked at.
    pub(super) fn bare(
        mtd: Partition,
        recorder: Recorder,
        threshold: u64,
    ) -> Result<Self, AttachError> {
        let (layout, wear) = (Layout::of(&mtd)?, Wear::new(mtd.block_count()));
        Ok(Self {
            mtd,
            recorder,
            layout,
            volume: 0,
            leb_count: 0,
            map: BTreeMap::new(),
            unchecked: BTreeSet::new(),
            volumes: Vec::new(),
            fastmap: None,
            was_fastmap_found: false,
            sequence: 0,
            wear,
            jobs: VecDeque::new(),
            threshold,
        })
    }

    /// Find out about all PEBs: from a fastmap if the first PEBs hold a valid one, else from all
    /// headers.
    fn scan(&mut self) -> Result<Scan, AttachError> {
        let mut scan = Scan::default();
        let block_count = self.mtd.block_count();
        let head_end = block_count.min(ANCHORS_END);
        self.scan_blocks(0..head_end, &mut scan)?;
        if scan.newest_anchor().is_none() || block_count <= ANCHORS_END {
            self.scan_blocks(head_end..block_count, &mut scan)?;
            return Ok(scan);
        }
        if let Some((scan, fastmap)) = self.scan_fastmap(&scan)? {
            self.fastmap = Some(fastmap);
            self.was_fastmap_found = true;
            return Ok(scan);
        }
        let mut scan = Scan::default();
        self.scan_blocks(0..block_count, &mut scan)?;
        Ok(scan)
    }

    fn scan_blocks(&mut self, blocks: Range<u32>, scan: &mut Scan) -> Result<(), AttachError> {
        for peb in blocks.filter(|&block| !self.mtd.is_bad(block)).collect::<Vec<_>>() {
            self.scan_block(peb, scan)?;
        }
        Ok(())
    }

    /// Read the headers of a PEB. Headers that are laid out for another page size are an error.
    pub(super) fn read_headers(&self, peb: u32) -> Result<Headers, AttachError> {
        let mut bytes = [0; HEADER_SIZE];
        self.mtd.read(self.place(peb, 0), &mut bytes)?;
        let ec = EcHeader::parse(&bytes);
        if let Found::Valid(ec) = ec {
            let expected = (self.layout.vid_offset, self.layout.data_offset);
            if (ec.vid_offset, ec.data_offset) != expected {
                return Err(AttachError::Geometry { block: peb });
            }
        }
        let quality = self.mtd.read(self.place(peb, self.layout.vid_offset), &mut bytes)?;
        Ok((ec, VidHeader::parse(&bytes), quality))
    }

    fn scan_block(&mut self, peb: u32, scan: &mut Scan) -> Result<(), AttachError> {
        let (ec, vid, quality) = self.read_headers(peb)?;
        if let Found::Valid(ec) = ec {
            scan.counts.insert(peb, ec.erase_count);
        }
        scan.is_unclear |= matches!(vid, Found::Corrupt);
        match (ec, vid) {
            (_, Found::Valid(vid)) if vid.is_fastmap() => {
                self.sequence = self.sequence.max(vid.sequence);
                scan.fastmaps.push(Claim { peb, vid });
            }
            (_, Found::Valid(vid)) => self.claim(scan, Claim { peb, vid })?,
            (Found::Valid(_), Found::Blank) if quality == ReadQuality::Clean => {
                scan.free.push(peb);
            }
            (_, Found::Corrupt)
                if !matches!(quality, ReadQuality::Damaged(_)) && !self.is_data_blank(peb)? =>
            {
                scan.keep.push(peb);
            }
            _ => scan.erase.push(peb),
        }
        Ok(())
    }

    fn is_data_blank(&self, peb: u32) -> Result<bool, AttachError> {
        let mut data = vec![0; self.leb_size() as usize];
        let quality = self.mtd.read(self.place(peb, self.layout.data_offset), &mut data)?;
        let damaged = matches!(quality, ReadQuality::Damaged(_));
        Ok(damaged || is_erased(&data))
    }

    /// Enter a PEB that claims to hold a LEB. If another PEB claims the same LEB, the newer one
    /// wins, unless it is an unfinished copy.
    pub(super) fn claim(&mut self, scan: &mut Scan, new: Claim) -> Result<(), AttachError> {
        let key = (new.vid.volume, new.vid.lnum);
        self.sequence = self.sequence.max(new.vid.sequence);
        let Some(old) = scan.claims.remove(&key) else {
            scan.claims.insert(key, new);
            return Ok(());
        };
        let old_is_newer = old.vid.sequence > new.vid.sequence;
        let (newer, older) = if old_is_newer { (old, new) } else { (new, old) };
        let (winner, loser) = if self.is_whole(&newer)? { (newer, older) } else { (older, newer) };
        scan.erase.push(loser.peb);
        scan.claims.insert(key, winner);
        Ok(())
    }

    /// Whether a PEB is no copy, or a copy that was finished.
    fn is_whole(&self, claim: &Claim) -> Result<bool, AttachError> {
        let Some((size, crc)) = claim.vid.copied else { return Ok(true) };
        if size > self.leb_size() {
            return Ok(false);
        }
        let mut data = vec![0; size as usize];
        let at = self.place(claim.peb, self.layout.data_offset);
        let quality = self.mtd.read(at, &mut data)?;
        Ok(!matches!(quality, ReadQuality::Damaged(_)) && crc32(&data) == crc)
    }

    /// Take over what the scan has found. A PEB whose erase counter is lost gets the mean of the
    /// others.
    fn adopt(&mut self, scan: Scan) -> Result<(), AttachError> {
        let counted = u64::try_from(scan.counts.len().max(1)).expect("fits");
        let sum = scan.counts.values().fold(0_u64, |sum, &count| sum.saturating_add(count));
        for peb in 0..self.mtd.block_count() {
            let count = scan.counts.get(&peb).copied().unwrap_or(sum / counted);
            self.wear.set_count(peb, count);
        }
        for (key, claim) in scan.claims {
            self.wear.set_state(claim.peb, State::Used);
            self.map.insert(key, claim.peb);
        }
        for peb in scan.scrub {
            if self.wear.state(peb) == State::Used {
                self.wear.set_state(peb, State::Scrub);
            }
        }
        for peb in scan.free {
            self.wear.set_state(peb, State::Free);
        }
        self.adopt_fastmaps(scan.fastmaps)?;
        for peb in scan.erase {
            self.schedule_erase(peb, false);
        }
        Ok(())
    }

    /// Read the volume table and return the number of LEBs of `volume`. A damaged copy is written
    /// again.
    fn read_table(&mut self, volume: u32) -> Result<u32, AttachError> {
        let size = record_count(self.leb_size()) * RECORD_SIZE;
        let mut tables = [const { None }; 2];
        for (lnum, table) in (0..).zip(&mut tables) {
            let Some(&peb) = self.map.get(&(LAYOUT_VOLUME, lnum)) else { continue };
            let mut bytes = vec![0; size];
            self.mtd.read(self.place(peb, self.layout.data_offset), &mut bytes)?;
            *table = parse_table(&bytes).map(|records| (bytes, records));
        }
        let best = usize::from(tables[0].is_none());
        let other = 1 - best;
        let Some((bytes, records)) = tables[best].clone() else { return Err(AttachError::NotUbi) };
        let is_same = tables[other].as_ref().is_some_and(|(copy, _)| *copy == bytes);
        if !is_same {
            self.change_in(LAYOUT_VOLUME, u32::from(other == 1), &bytes)?;
        }
        let volumes = (0..).zip(records).filter_map(|(id, record)| Some((id, record?)));
        self.volumes = volumes.collect();
        let record = self.volumes.iter().find(|(id, _)| *id == volume);
        record.map(|(_, record)| record.leb_count).ok_or(AttachError::NoVolume)
    }

    /// Erase the PEBs of LEBs that lie beyond the end of the volume.
    fn forget_strangers(&mut self) {
        let (volume, count) = (self.volume, self.leb_count);
        let stray: Vec<_> =
            self.map.keys().copied().filter(|&(id, lnum)| id == volume && lnum >= count).collect();
        for key in stray {
            let peb = self.map.remove(&key).expect("just listed");
            self.schedule_erase(peb, false);
        }
    }
}
