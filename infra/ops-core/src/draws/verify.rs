//! Verifies a published folder, without a stack, by the checks of `verify.py`.

use std::fs;
use std::io::BufReader;

use chrono::Utc;
use draw::beacon::InvalidRound;
use draw::{Difference, Evidence, Log};

use super::prelude::*;
use crate::cli::VerifyArgs;

pub(crate) struct Verified {
    pub(crate) committed: Committed,
    pub(crate) result: DrawResult,
    /// `None` before the certificate.
    pub(crate) log: Option<Log>,
    pub(crate) chain: Chain,
    pub(crate) given_at: DateTime<Utc>,
}

/// Computes a draw again, and compares.
pub(crate) fn verify(args: &VerifyArgs, env: &Env) -> Result<Verified> {
    let folder = args.path.as_path();
    check_folder(folder)?;
    let committed = read_committed(folder)?;
    let is_other = |copied: &Digest| *copied != committed.commitment();
    if let Some(copied) = args.commitment.filter(is_other) {
        bail!(
            "commitment_differs",
            "the files agree with each other, but their commitment is {} and you copied {copied}: this is not the list that \
             was committed to, unless a digit of the copy is wrong",
            committed.commitment()
        );
    }
    let hash = committed.header().chain;
    let chain = chain::known(env, hash)?.ok_or_else(|| {
        failure!(
            "chain_unknown",
            "the header names the chain {hash}, which is not drand's quicknet: the holder of its key knows the winners in \
             advance. If you trust that person, set {} to what a relay of that chain answers to /info",
            chain::CHAIN_VARIABLE
        )
    })?;
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

fn check_folder(folder: &Path) -> Result<()> {
    if !fs::metadata(folder)
        .map_err(Failure::from_io(folder, "reading"))?
        .is_dir()
    {
        bail!(
            "folder_needed",
            "{} is no folder; give the one with the published files. A certificate verifies itself in a browser",
            folder.display()
        );
    }
    if folder.join(HEADER).exists() && !folder.join(RESULT).exists() {
        bail!(
            "draw_without_result",
            "{} has no {RESULT}: the draw was frozen into it and not drawn; `ops draw run --output` with this folder writes it",
            folder.display()
        );
    }
    Ok(())
}

fn read_committed(folder: &Path) -> Result<Committed> {
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

fn read(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let path = folder.join(name);
    fs::read(&path).map_err(Failure::from_io(&path, "reading"))
}

fn open(path: &Path) -> Result<BufReader<File>> {
    File::open(path)
        .map(BufReader::new)
        .map_err(Failure::from_io(path, "reading"))
}

fn differs(difference: Difference) -> Failure {
    failure!(
        "draw_differs",
        "this draw does NOT hold; the first difference: {difference}"
    )
}

fn signature_differs(committed: &Committed, error: InvalidRound) -> Failure {
    let Header { round, chain, .. } = committed.header();
    failure!(
        "signature_differs",
        "this draw does NOT hold: the signature in result.json, for round {round} of the chain {chain}, {error}; compare it \
         with the round that any relay of the beacon gives"
    )
}
