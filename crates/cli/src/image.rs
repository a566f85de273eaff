//! `flysch image`: makes a flash image from a folder, and copies the files of an image into a
//! folder.

use std::path::PathBuf;

use clap::Subcommand;
use flysch_kernel::live::signals::Stop;
use flysch_lab::bench::grid::CompressionOption;
use flysch_lab::image::{Extracted, ImageOf, TransferError, extract, make};
use flysch_lab::machine::Build;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_names::UnknownName;

use crate::failure::Failure;
use crate::output;
use crate::parameters::{check_compressor, part, platform};
use crate::progress::tell;
use crate::words::on_or_off;

/// Arguments of `flysch image`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch image make files flash.nand --on file/ubifs --partition-blocks 96
  flysch image extract flash.nand copies")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a folder to a new file system and save its flash, for nandwrite --oob
    #[command(
        after_help = "Example:\n  flysch image make files flash.nand --on file/jffs2 --cut 500"
    )]
    Make(Make),
    /// Mount an image and copy its files into a new folder: a dump by nanddump with or without
    /// --oob, or an image by mkfs.jffs2 or ubinize
    #[command(after_help = "\
Examples:
  nanddump --oob --file=flash.nand /dev/mtd0
  flysch image extract flash.nand copies
  mkfs.jffs2 --root=files --output=files.jffs2
  flysch image extract files.jffs2 copies

The file system is found out. Links, permissions and (as root) owners are kept. Files that are not
whole are listed, and the exit code is 1.")]
    Extract(Extract),
}

#[derive(Debug, clap::Args)]
struct Make {
    /// Folder whose files are written
    folder: PathBuf,
    /// Image file to write
    image: PathBuf,
    /// Stack: file/jffs2, file/yaffs2, file/ubifs, file/ftl or file/pramfs
    #[arg(long, value_name = "STACK", value_parser = on)]
    on: On,
    #[command(flatten)]
    flash: Flash,
    /// Number of blocks in the partition [default: the platform's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    partition_blocks: Option<u32>,
    /// Compressors in the order JFFS2 tries them, joined by + (lzo+zlib+rtime), zstd (UBIFS), or
    /// none
    #[arg(long, value_name = "LIST")]
    compression: Option<CompressionOption>,
    /// Size of the PRAM in KiB (PRAMFS), 64 to 1048576 [default: 8192]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    pram_size: Option<u32>,
    /// UBI writes fastmaps (UBIFS), on or off [default: off]
    #[arg(long, value_name = "on|off", value_parser = on_or_off())]
    ubi_fastmap: Option<bool>,
    /// Cut the power during this flash operation instead of unmounting; operations count from the
    /// first file
    #[arg(long, value_name = "N")]
    cut: Option<u64>,
    /// Replace an existing image
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Extract {
    /// Image to mount; it is not changed
    image: PathBuf,
    /// Folder to create for the files
    folder: PathBuf,
    /// Stack [default: recognised from the image]: file/jffs2, file/yaffs2, file/ubifs, file/ftl or
    /// file/pramfs
    #[arg(long, value_name = "STACK", value_parser = on)]
    on: Option<On>,
    #[command(flatten)]
    flash: Flash,
}

/// The flash that an image is for.
#[derive(Debug, clap::Args)]
struct Flash {
    /// Platform whose chip the image is for: a name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nandsim-6.1")]
    platform: String,
    /// Part (chip model) instead of the platform's: a name, or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    part: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.action {
        Action::Make(make) => make.run(),
        Action::Extract(extract) => extract.run(),
    }
}

impl Flash {
    fn build(&self) -> Result<Build, Failure> {
        let mut build = Build::of(&platform(&self.platform)?);
        if let Some(name) = &self.part {
            build.part = part(name)?;
        }
        Ok(build)
    }
}

/// The value of `--on`.
#[derive(Clone, Copy, Debug)]
enum On {
    Stack(Stack),
    /// PRAMFS without another file system. No benchmark runs on it.
    Pramfs,
}

fn on(name: &str) -> Result<On, UnknownName> {
    if name == "file/pramfs" { Ok(On::Pramfs) } else { name.parse().map(On::Stack) }
}

/// What the images of a stack contain. An error if it has none.
fn image_of(on: On) -> Result<ImageOf, Failure> {
    let On::Stack(stack) = on else { return Ok(ImageOf::Pram) };
    let Stack { engine, main, journals } = stack;
    if engine != Engine::File || main == Main::Tmpfs || journals.is_some() {
        let name = stack.name();
        return Err(Failure::Message(format!(
            "--on {name}: images are of file/jffs2, file/yaffs2, file/ubifs, file/ftl and \
             file/pramfs"
        )));
    }
    Ok(ImageOf::Flash(main))
}

impl Make {
    /// Refuse an option that the file system does not use.
    fn check_use(&self, of: ImageOf) -> Result<(), Failure> {
        if of == ImageOf::Pram && self.cut.is_some() {
            return Err(Failure::Message("--cut is for images of flash".to_owned()));
        }
        let (is_pram, is_ubifs) = (of == ImageOf::Pram, of == ImageOf::Flash(Main::Ubifs));
        let compresses = is_ubifs || of == ImageOf::Flash(Main::Jffs2);
        let options = [
            ("partition-blocks", self.partition_blocks.is_some(), !is_pram),
            ("compression", self.compression.is_some(), compresses),
            ("pram-size", self.pram_size.is_some(), is_pram),
            ("ubi-fastmap", self.ubi_fastmap.is_some(), is_ubifs),
        ];
        if let Some((name, ..)) = options.iter().find(|(_, is_given, has)| *is_given && !has) {
            let message = format!("--{name}: file/{} does not use it", of.name());
            return Err(Failure::Message(message));
        }
        match (&self.compression, self.on) {
            (Some(option), On::Stack(stack)) => check_compressor(option, stack),
            (Some(_), On::Pramfs) | (None, _) => Ok(()),
        }
    }

    fn run(&self) -> Result<(), Failure> {
        let (of, mut build) = (image_of(self.on)?, self.flash.build()?);
        self.check_use(of)?;
        build.layers.pram_kib = self.pram_size.unwrap_or(build.layers.pram_kib);
        build.partition_blocks = self.partition_blocks.unwrap_or(build.partition_blocks);
        build.layers.ubi_fastmap = self.ubi_fastmap.unwrap_or_default();
        if let Some(choice) = &self.compression {
            choice.apply(&mut build);
        }
        output::check_writable(&self.image, self.force)?;
        let paths = (self.folder.as_path(), self.image.as_path());
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let made = make(&build, of, paths, self.cut, (self.force, &|| stop.is_wanted()));
        let made = made.map_err(|error| Failure::of(&error))?;
        let device = if of == ImageOf::Pram { "memory" } else { "flash" };
        let text = format!("{} files, {} {device} operations\n", made.files, made.operations);
        output::print(text.as_bytes())
    }
}

impl Extract {
    fn run(&self) -> Result<(), Failure> {
        let (wanted, build) = (self.on.map(image_of).transpose()?, self.flash.build()?);
        let done = extract(&build, wanted, (&self.image, &self.folder));
        let done = done.map_err(|error| match error {
            TransferError::Host(..) => Failure::of(&error),
            other => Failure::of_file(&self.image, other),
        })?;
        output::print(said(&done).as_bytes())?;
        for (path, why) in &done.lost {
            tell(&format!("{path}: {why}"));
        }
        match (done.lost.len(), &done.doubt) {
            (0, None) => Ok(()),
            (0, Some(doubt)) => Err(Failure::Beyond(format!("{}: {doubt}", self.image.display()))),
            (lost, _) => Err(Failure::Beyond(format!(
                "{}: {lost} of its files are not whole",
                self.image.display()
            ))),
        }
    }
}

/// A line that says what was copied.
fn said(done: &Extracted) -> String {
    let of_attach = match done.attach_reads {
        0 => String::new(),
        reads => format!(", {reads} of them to attach UBI"),
    };
    let Extracted { of, mount_reads, .. } = done;
    let counted = |count, name| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    let [files, folders, links] =
        [(done.files, "file"), (done.folders, "folder"), (done.links, "link")]
            .map(|(count, name)| counted(count, name));
    let (main, oob) = (of.name(), if done.has_oob { "with" } else { "without" });
    if *of == ImageOf::Pram {
        return format!("{files}, {folders}, {links} of {main}\n");
    }
    format!(
        "{files}, {folders}, {links} of {main}, {oob} OOB; \
         {mount_reads} pages read to mount{of_attach}\n"
    )
}
