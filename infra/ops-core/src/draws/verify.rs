//! Verifies a draw from what was published of it: a folder of files, or a certificate. Needs no stack.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::path::Path;

use beacon::{Chain, InvalidRound};
use chrono::DateTime;
use common::config::Env;
use draw::{CertificateFile, Committed, Difference, Digest, DrawResult, Evidence, Header, Times};

use super::chain;
use super::files::{COMMITMENT, ENTRIES, HEADER, OPENINGS, RESULT};
use crate::failure::Failure;

/// A draw that holds.
pub(crate) struct Verified {
    pub(crate) committed: Committed,
    pub(crate) result: DrawResult,
    /// Of a certificate.
    pub(crate) times: Option<Times>,
    pub(crate) chain: Chain,
}

/// What the verifier trusts apart from the files.
pub(crate) struct Trusted<'a> {
    /// May have the chain of a local stack.
    pub(crate) env: &'a Env,
    /// The commitment, copied before the round.
    pub(crate) commitment: Option<Digest>,
    /// Of a chain other than drand's quicknet.
    pub(crate) chain_key: Option<&'a str>,
}

/// Computes a draw again, and compares.
///
/// # Errors
/// The first difference, by file and line; or a file that cannot be read.
pub(crate) fn verify(path: &Path, trusted: &Trusted<'_>) -> Result<Verified, Failure> {
    let is_folder = fs::metadata(path).map_err(|error| Failure::from_io(path, "reading", &error))?.is_dir();
    let (committed, result, times) = if is_folder { of_folder(path) } else { of_certificate(path) }?;
    if let Some(copied) = trusted.commitment.filter(|copied| *copied != committed.commitment()) {
        let message = format!(
            "the files agree with each other, but their commitment is {} and you copied {copied}: this is not the list that \
             was committed to, unless a digit of the copy is wrong",
            committed.commitment()
        );
        return Err(Failure::new("commitment_differs", message));
    }
    let chain = chain_of(committed.header(), trusted)?;
    let round = chain.verify(result.round, result.signature.as_bytes());
    round.map_err(|error| signature_differs(&committed, error))?;
    if let Some(times) = times.filter(|_| trusted.chain_key.is_none()) {
        check_round_time(&chain, &result, times)?;
    }
    Ok(Verified { committed, result, times, chain })
}

type Computed = (Committed, DrawResult, Option<Times>);

fn of_folder(folder: &Path) -> Result<Computed, Failure> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| Failure::from_io(&path, "reading", &error))
    };
    if folder.join(HEADER).exists() && !folder.join(RESULT).exists() {
        let message = format!(
            "{} has no {RESULT}: the draw was frozen into it and not drawn; `ops draw run --output` with this folder writes it",
            folder.display()
        );
        return Err(Failure::new("draw_without_result", message));
    }
    let (header, commitment, result) = (read(HEADER)?, read(COMMITMENT)?, read(RESULT)?);
    let mut entries = open(&folder.join(ENTRIES))?;
    let openings = folder.join(OPENINGS);
    let mut openings = if openings.exists() { Some(open(&openings)?) } else { None };
    let evidence = Evidence {
        entries: &mut entries,
        header: &header,
        commitment: &String::from_utf8_lossy(&commitment),
        openings: openings.as_mut().map(|openings| -> &mut dyn BufRead { openings }),
    };
    let committed = Committed::read(evidence).map_err(differs)?;
    let result = committed.read_result(&result).map_err(differs)?;
    Ok((committed, result, None))
}

fn of_certificate(path: &Path) -> Result<Computed, Failure> {
    let page = fs::read_to_string(path).map_err(|error| Failure::from_io(path, "reading", &error))?;
    let file = CertificateFile::parse(page).map_err(differs)?;
    let checked = match file.entries() {
        Some(entries) => file.check(&mut entries.as_bytes()),
        None => file.check(&mut open(&path.with_file_name(ENTRIES))?),
    };
    let (committed, result) = checked.map_err(differs)?;
    Ok((committed, result, Some(file.times())))
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| Failure::from_io(path, "reading", &error))
}

/// The chain that a header names.
fn chain_of(header: &Header, trusted: &Trusted<'_>) -> Result<Chain, Failure> {
    let (quicknet, hash) = (Chain::quicknet(), header.chain.to_string());
    match trusted.chain_key {
        Some(_) if hash == quicknet.hash() => {
            let message =
                "the header names drand's quicknet, whose key this program has; leave --chain-key out";
            Err(Failure::new("chain_known", message))
        }
        // Rounds are verified without their times.
        Some(key) => Chain::new(&hash, key, DateTime::UNIX_EPOCH, NonZeroU32::MIN)
            .map_err(|error| Failure::new("chain_key_invalid", format!("--chain-key: {error}"))),
        None => {
            let mut chains = [quicknet, chain::configured(trusted.env)?].into_iter();
            chains.find(|chain| chain.hash() == hash).ok_or_else(|| {
                let message = format!(
                    "the order follows from the files, but the header names the chain {hash}, which is not drand's quicknet; \
                     give that chain's public key with --chain-key, and trust it only if you know who has the secret one"
                );
                Failure::new("chain_unknown", message)
            })
        }
    }
}

fn check_round_time(chain: &Chain, result: &DrawResult, times: Times) -> Result<(), Failure> {
    let Some(round_at) = chain.time_of(result.round).filter(|round_at| *round_at != times.round_at) else {
        return Ok(());
    };
    let message = format!(
        "the certificate says that round {} was at {}, but the beacon gave it at {}",
        result.round,
        times.round_at.to_rfc3339(),
        round_at.to_rfc3339()
    );
    Err(Failure::new("draw_differs", message))
}

fn differs(difference: Difference) -> Failure {
    Failure::new("draw_differs", format!("this draw does NOT hold; the first difference: {difference}"))
}

fn signature_differs(committed: &Committed, error: InvalidRound) -> Failure {
    let Header { round, chain, .. } = committed.header();
    let message = format!(
        "this draw does NOT hold: the signature in result.json, for round {round} of the chain {chain}, {error}; compare it \
         with the round that any relay of the beacon gives"
    );
    Failure::new("signature_differs", message)
}
