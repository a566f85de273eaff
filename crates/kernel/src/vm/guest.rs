//! Guests: the chip that nandsim simulates, the modules to load, and the job to execute.

use std::path::PathBuf;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_linux::mtd::EccMode;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::error::VmError;

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Accelerator {
    /// The processor of this machine. It is fast, but the speed depends on the machine.
    Kvm,
    /// QEMU's emulator, where an instruction takes 32 ns of guest time. It gives the same times
    /// everywhere. The platform `nandsim-6.1` describes it.
    Tcg,
}

named!(Accelerator, "accelerator");

/// The description of a guest.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The chip that nandsim simulates.
    pub part: Arc<Part>,
    /// Number of blocks in the test partition, `mtd0`. The rest of the chip is `mtd1`.
    pub partition_blocks: u32,
    /// Whether nandsim's operations take the time of the chip's.
    pub delays: bool,
    /// Where error correction is computed.
    pub ecc: EccMode,
    /// Size in MiB of a PRAM that is mounted at `/pram`. 0 for none.
    pub pram_mib: u32,
    /// A kernel module for YAFFS2 to load.
    pub module: Option<PathBuf>,
    /// What executes the guest. None: what the set-up found to work.
    pub accelerator: Option<Accelerator>,
    /// Time limit of the guest, in seconds of this machine's time.
    pub limit_s: u32,
}

/// The page sizes that nandsim supports, of those that a chip's ID can encode. Above 128 MiB
/// nandsim expects a third byte of a page's address, but the kernel only sends one to a chip with
/// more than 65,536 pages (`nandsim.c` and `nand_base.c` of Linux 6.1).
const PAGE_SIZES: [u32; 2] = [2048, 4096];

/// Address of the PRAM in guest memory in MiB. It is above what kernel and memory disk need.
pub(super) const PRAM_AT_MIB: u32 = 512;

impl Guest {
    /// The init script of the guest: devices, modules, then the job.
    pub(super) fn script(&self, job: &str) -> Result<String, VmError> {
        let nandsim = self.nandsim()?;
        let hardware = if self.ecc == EccMode::Hardware { "insmod /hwecc.ko\n" } else { "" };
        let module = if self.module.is_some() { MODULE } else { "" };
        let pram = if self.pram_mib > 0 { PRAM } else { "" };
        Ok(format!(
            "#!/bin/busybox sh\n\
             /bin/busybox --install -s /bin\n\
             export PATH=/bin:/usr/sbin HOME=/tmp\n\
             mount -t proc proc /proc\nmount -t sysfs sys /sys\nmount -t devtmpfs dev /dev\n\
             mount -t tmpfs tmp /tmp\nmount -t tracefs trace /sys/kernel/tracing\n\
             exec >/dev/console 2>&1\n\
             modprobe nandsim {nandsim}\nmodprobe zstd\nmodprobe ubifs\nmodprobe jffs2\n\
             {hardware}{module}{pram}cd /tmp\n\
             echo {STARTED}\n\
             {job}\n\
             poweroff -f\n"
        ))
    }

    /// The parameters of nandsim. It recognises a chip by the bytes of its ID.
    fn nandsim(&self) -> Result<String, VmError> {
        let id =
            self.nandsim_id().map_err(|why| VmError::Chip { name: self.part.name.clone(), why })?;
        let timing = self.part.timing;
        let cycle = timing.transfer_ps_per_byte / 1000;
        Ok(format!(
            "{id} parts={} do_delays={} access_delay={} \
             programm_delay={} erase_delay={} input_cycle={cycle} output_cycle={cycle}",
            self.partition_blocks,
            u8::from(self.delays),
            timing.sense_ns / 1000,
            timing.program_ns / 1000,
            // The parameter is in milliseconds, so the time is rounded up.
            timing.erase_ns.div_ceil(1_000_000),
        ))
    }

    /// The bytes of the ID from which nandsim derives the chip's geometry, or why there are none.
    fn nandsim_id(&self) -> Result<String, String> {
        let geometry = self.part.geometry;
        let mib = (u64::from(geometry.block_size()) * u64::from(geometry.block_count)) >> 20;
        let device = match mib {
            128 => 0xf1,
            256 => 0xaa,
            512 => 0xdc,
            1024 => 0xd3,
            _ => return Err(format!("it knows 128 to 1024 MiB, not {mib} MiB")),
        };
        if !PAGE_SIZES.contains(&geometry.page_size) {
            return Err(format!("pages of {} bytes", geometry.page_size));
        }
        let has_third_cycle = geometry.page_count() > 1 << 16;
        if has_third_cycle != (mib > 128) {
            return Err(format!("{mib} MiB in pages of {} bytes", geometry.page_size));
        }
        let page = power(geometry.page_size, 1024, "pages")?;
        let block = power(geometry.block_size(), 64 << 10, "blocks")?;
        let oob = match geometry.oob_size * 512 / geometry.page_size {
            8 => 0,
            16 => 1,
            _ => return Err(format!("{} bytes of OOB", geometry.oob_size)),
        };
        let extension = page | oob << 2 | block << 4;
        Ok(format!(
            "first_id_byte=0x20 second_id_byte={device:#x} third_id_byte=0 \
             fourth_id_byte={extension:#x}"
        ))
    }

    /// Kernel parameters that reserve the memory of the PRAM.
    pub(super) fn kernel_arguments(&self) -> String {
        match self.pram_mib {
            0 => String::new(),
            mib => format!(" memmap={mib}M!{PRAM_AT_MIB}M"),
        }
    }
}

/// The line that the guest prints once its devices are ready.
pub(super) const STARTED: &str = "flysch-guest-started";

/// Loads the user's module. The guest ends if the kernel rejects it.
const MODULE: &str = "modprobe mtdblock\n\
    insmod /module.ko || { echo 'flysch: --module: not a module of this kernel'\n\
    echo 'flysch-guest-exit 2' >/dev/ttyS1; sync; poweroff -f; }\n";

/// Sets up the PRAM as persistent memory, with a file system that maps it directly into programs.
const PRAM: &str = "modprobe crc32c_generic\nmodprobe libnvdimm\nmodprobe nd_e820\n\
    modprobe nd_pmem\nmodprobe ext4\n\
    mkdir -p /pram\nmke2fs -b 4096 /dev/pmem0 >/dev/null\n\
    mount -t ext4 -o dax=always /dev/pmem0 /pram || mount -t ext4 /dev/pmem0 /pram\n";

/// The exponent of two for `size` in multiples of `unit`. A chip's ID has room for four values.
fn power(size: u32, unit: u32, what: &str) -> Result<u32, String> {
    let found = (0..4).find(|&power| unit << power == size);
    found.ok_or_else(|| format!("{what} of {size} bytes"))
}

/// Quote a word for the guest's shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use flysch_nand::Geometry;

    use super::*;

    fn guest(part: &str) -> Guest {
        Guest {
            part: Arc::new(Part::named(part).unwrap()),
            partition_blocks: 400,
            delays: true,
            ecc: EccMode::Hardware,
            pram_mib: 64,
            module: None,
            accelerator: None,
            limit_s: 60,
        }
    }

    #[test]
    fn nandsim_is_told_the_part() {
        let script = guest("nandsim").script("true").unwrap();
        let wanted = "modprobe nandsim first_id_byte=0x20 second_id_byte=0xaa third_id_byte=0 \
            fourth_id_byte=0x15 parts=400 do_delays=1 access_delay=25 programm_delay=300 \
            erase_delay=1 input_cycle=150 output_cycle=150\n";
        assert!(script.contains(wanted), "{script}");
        assert!(script.contains("insmod /hwecc.ko\n") && script.contains("mount -t ext4"));
        assert_eq!(guest("nandsim").kernel_arguments(), " memmap=64M!512M");
    }

    #[test]
    fn a_chip_that_nandsim_cannot_be_is_refused() {
        let cases = [
            (2048, 64, 64, 1024, None),
            (4096, 128, 64, 512, None),
            (4096, 128, 64, 2048, None),
            (512, 16, 32, 8192, Some("pages of 512 bytes")),
            (1024, 32, 128, 1024, Some("pages of 1024 bytes")),
            (4096, 128, 64, 1024, Some("256 MiB in pages of 4096 bytes")),
            (2048, 64, 64, 100, Some("not 12 MiB")),
            (2048, 224, 64, 2048, Some("224 bytes of OOB")),
        ];
        for (page_size, oob_size, pages_per_block, block_count, wanted) in cases {
            let mut guest = guest("nandsim");
            let part = Arc::make_mut(&mut guest.part);
            part.geometry =
                Geometry { page_size, oob_size, pages_per_block, block_count, ..part.geometry };
            let line =
                guest.script("true").map_or_else(|error| error.to_string(), |_| String::new());
            match wanted {
                None => assert_eq!(line, ""),
                Some(wanted) => {
                    assert!(line.starts_with("nandsim cannot be the part nandsim: "), "{line}");
                    assert!(line.contains(wanted), "{line}");
                }
            }
        }
    }

    #[test]
    fn words_reach_the_guest_as_they_are() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
