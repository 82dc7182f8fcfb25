//! Verifies a published folder, without a stack, by the checks of `verify.py`.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use chrono::{DateTime, Utc};
use common::config::Env;
use draw::beacon::{Chain, InvalidRound};
use draw::{Committed, Difference, Digest, DrawResult, Evidence, Header, Log};

use super::chain;
use super::files::{COMMITMENT, ENTRIES, HEADER, LOG, OPENINGS, RESULT};
use crate::cli::VerifyArgs;
use crate::failure::Failure;

pub(crate) struct Verified {
    pub(crate) committed: Committed,
    pub(crate) result: DrawResult,
    /// `None` before the certificate.
    pub(crate) log: Option<Log>,
    pub(crate) chain: Chain,
    pub(crate) given_at: DateTime<Utc>,
}

/// Computes a draw again, and compares.
pub(crate) fn verify(args: &VerifyArgs, env: &Env) -> Result<Verified, Failure> {
    let folder = args.path.as_path();
    check_folder(folder)?;
    let committed = read_committed(folder)?;
    let is_other = |copied: &Digest| *copied != committed.commitment();
    if let Some(copied) = args.commitment.filter(is_other) {
        let message = format!(
            "the files agree with each other, but their commitment is {} and you copied {copied}: this is not the list that \
             was committed to, unless a digit of the copy is wrong",
            committed.commitment()
        );
        return Err(Failure::new("commitment_differs", message));
    }
    let chain = chain_of(committed.header(), args, env)?;
    let given_at = committed
        .check_round_time(chain.time_of(committed.header().round))
        .map_err(differs)?;
    let result = committed
        .read_result(&read(folder, RESULT)?)
        .map_err(differs)?;
    let mut log = None;
    if folder.join(LOG).exists() {
        let text = read(folder, LOG)?;
        log = Some(
            committed
                .read_log(&result, given_at, &text)
                .map_err(differs)?,
        );
    }
    let round = chain.verify(result.round, result.signature);
    round.map_err(|error| signature_differs(&committed, error))?;
    Ok(Verified {
        committed,
        result,
        log,
        chain,
        given_at,
    })
}

fn check_folder(folder: &Path) -> Result<(), Failure> {
    if !fs::metadata(folder)
        .map_err(|error| Failure::from_io(folder, "reading", &error))?
        .is_dir()
    {
        let message = format!(
            "{} is no folder; give the one with the published files. A certificate verifies itself in a browser",
            folder.display()
        );
        return Err(Failure::new("folder_needed", message));
    }
    if folder.join(HEADER).exists() && !folder.join(RESULT).exists() {
        let message = format!(
            "{} has no {RESULT}: the draw was frozen into it and not drawn; `ops draw run --output` with this folder writes it",
            folder.display()
        );
        return Err(Failure::new("draw_without_result", message));
    }
    Ok(())
}

fn read_committed(folder: &Path) -> Result<Committed, Failure> {
    let (header, commitment) = (read(folder, HEADER)?, read(folder, COMMITMENT)?);
    let mut entries = open(&folder.join(ENTRIES))?;
    let evidence = Evidence {
        entries: &mut entries,
        header: &header,
        commitment: &String::from_utf8_lossy(&commitment),
    };
    let committed = Committed::read(evidence).map_err(differs)?;
    let openings = folder.join(OPENINGS);
    if openings.exists() {
        let read = committed.read_openings(open(&openings)?, |_, _| false);
        read.map_err(differs)?;
    }
    Ok(committed)
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let path = folder.join(name);
    fs::read(&path).map_err(|error| Failure::from_io(&path, "reading", &error))
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path)
        .map(BufReader::new)
        .map_err(|error| Failure::from_io(path, "reading", &error))
}

fn chain_of(header: &Header, args: &VerifyArgs, env: &Env) -> Result<Chain, Failure> {
    let hash = header.chain;
    let invalid = |why: &str| Failure::new("chain_key_invalid", why);
    match (&args.chain_key, args.chain_genesis, args.chain_period) {
        (Some(_), _, _) if hash == Chain::quicknet().hash() => {
            let message = "the header names drand's quicknet, whose key this program has; leave --chain-key out";
            Err(Failure::new("chain_known", message))
        }
        (Some(key), Some(genesis), Some(period)) => {
            let genesis = DateTime::from_timestamp_secs(genesis)
                .ok_or_else(|| invalid("--chain-genesis is no time in seconds since 1970"))?;
            Chain::new(hash, key, genesis, period)
                .map_err(|error| invalid(&format!("--chain-key: {error}")))
        }
        // The command line takes all three or none.
        _ => chain::known(env, hash)?.ok_or_else(|| {
            let message = format!(
                "the header names the chain {hash}, which is not drand's quicknet: the holder of its key knows the \
                 winners in advance. If you trust that person, give the chain's constants, as its /info has them, with \
                 --chain-key, --chain-genesis and --chain-period"
            );
            Failure::new("chain_unknown", message)
        }),
    }
}

fn differs(difference: Difference) -> Failure {
    Failure::new(
        "draw_differs",
        format!("this draw does NOT hold; the first difference: {difference}"),
    )
}

fn signature_differs(committed: &Committed, error: InvalidRound) -> Failure {
    let Header { round, chain, .. } = committed.header();
    let message = format!(
        "this draw does NOT hold: the signature in result.json, for round {round} of the chain {chain}, {error}; compare it \
         with the round that any relay of the beacon gives"
    );
    Failure::new("signature_differs", message)
}
