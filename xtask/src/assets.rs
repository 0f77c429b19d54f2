//! `cargo xtask assets`: brings the web UI's libraries and font, and its tests' accessibility checker, into the
//! repository, from the npm registry.
//!
//! Each is taken from one file of one version of one package, checked against the hash that is written down, and
//! stored compressed twice. Needs `npm`, `node` (for its brotli) and `tar`; nothing else in the workspace does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::demo::Outcome;
use crate::workspace;

/// What the UI serves, and what only its tests use. Each folder has a list, and may hold brotli as well as gzip.
const FOLDERS: [(&str, bool); 2] =
    [("crates/web/assets/vendor", true), ("crates/browser-tests/vendor", false)];
const LIST: &str = "vendor.json";

/// One vendored file.
#[derive(Debug, Serialize, Deserialize)]
struct Vendored {
    /// What it is served as.
    name: String,
    package: String,
    version: String,
    license: String,
    /// Where it stands in the package.
    file: String,
    /// Where the package's licence stands in it.
    license_file: String,
    /// Of the file as it is in the package.
    sha256: String,
    /// Of the compressed files; a font is stored as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    gz_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    br_sha256: Option<String>,
}

/// Compresses as well as it goes.
const COMPRESS: &str = "const z=require('zlib'),f=require('fs'),p=process.argv[1],d=f.readFileSync(p);\
    f.writeFileSync(p+'.gz',z.gzipSync(d,{level:9}));\
    f.writeFileSync(p+'.br',z.brotliCompressSync(d,{params:{[z.constants.BROTLI_PARAM_QUALITY]:11,\
    [z.constants.BROTLI_PARAM_SIZE_HINT]:d.length}}));";

pub(crate) fn run() -> Outcome {
    for (folder, with_brotli) in FOLDERS {
        fetch(&workspace::root().join(folder), with_brotli)?;
    }
    Ok(())
}

fn fetch(folder: &Path, with_brotli: bool) -> Outcome {
    let mut list: Vec<Vendored> = serde_json::from_str(&fs::read_to_string(folder.join(LIST))?)?;
    let work = tempfile::tempdir()?;
    for file in &mut list {
        let package = unpack(work.path(), file)?;
        let target = folder.join(&file.name);
        fs::copy(package.join(&file.file), &target)?;
        let found = sha256(&target)?;
        if !file.sha256.is_empty() && file.sha256 != found {
            return Err(format!(
                "take {} from {} {}: expected sha256 {}, found {found}",
                file.file, file.package, file.version, file.sha256
            )
            .into());
        }
        file.sha256 = found;
        let short = file.package.rsplit('/').next().unwrap_or(&file.package).to_owned();
        fs::copy(package.join(&file.license_file), folder.join(format!("LICENSE-{short}.txt")))?;
        if !file.name.ends_with(".woff2") {
            run_command(Command::new("node").arg("-e").arg(COMPRESS).arg(&target))?;
            file.gz_sha256 = Some(sha256(&with_ending(&target, "gz"))?);
            let brotli = with_ending(&target, "br");
            if with_brotli {
                file.br_sha256 = Some(sha256(&brotli)?);
            } else {
                fs::remove_file(brotli)?;
            }
            fs::remove_file(&target)?;
        }
        println!("{} from {} {} ({})", file.name, file.package, file.version, file.license);
    }
    fs::write(folder.join(LIST), serde_json::to_string_pretty(&list)? + "\n")?;
    Ok(())
}

/// The folder of the unpacked package, which is fetched once for all its files.
fn unpack(work: &Path, file: &Vendored) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = work.join(file.package.replace('/', "-"));
    if !folder.is_dir() {
        fs::create_dir(&folder)?;
        let wanted = format!("{}@{}", file.package, file.version);
        run_command(Command::new("npm").args(["pack", "--silent", &wanted]).current_dir(&folder))?;
        let archive = fs::read_dir(&folder)?.next().ok_or("find the archive that npm packed")??.path();
        run_command(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&folder))?;
    }
    Ok(folder.join("package"))
}

fn run_command(command: &mut Command) -> Outcome {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("run {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("run {shown}: it ended with {status}").into()) }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

fn sha256(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let output = Command::new("sha256sum").arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().ok_or("read sha256sum's output")?.to_owned())
}
