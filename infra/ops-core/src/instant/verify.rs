//! Verifies a published folder, without a stack, by the checks of `verify.py`.

use std::fs;

use draw::{Difference, Digest, PlanFiles, VerifiedPlan};

use super::{ROWS, SECRET, known_chain};
use crate::draws::files::{COMMITMENT, HEADER, RESULT};
use crate::prelude::*;

pub(crate) fn verify(folder: &Path, copied: Option<Digest>, env: &Env) -> Result<VerifiedPlan> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(Failure::from_io(&path, "reading"))
    };
    let (header, commitment) = (read(HEADER)?, read(COMMITMENT)?);
    let (secret, result, rows) = (read(SECRET)?, read(RESULT)?, read(ROWS)?);
    let files = PlanFiles {
        header: &header,
        commitment: &commitment,
        secret: &secret,
        result: &result,
        rows: &rows,
    };
    let plan = files.plan().map_err(differs)?;
    if let Some(copied) = copied.filter(|copied| *copied != plan.commitment()) {
        bail!(
            "commitment_differs",
            "the commitment of these files is {} and you copied {copied}: this is not the plan that was committed to, unless a \
             digit of the copy is wrong",
            plan.commitment()
        );
    }
    let chain = known_chain(env, &plan)?;
    let verified = files.verify(&chain).map_err(differs)?;
    let (round, signature) = (verified.result.round, verified.result.signature);
    chain.verify(round, signature).map_err(|error| {
        failure!(
            "signature_differs",
            "this plan does NOT hold: the signature in result.json, for round {round} of the chain {}, {error}; compare it \
             with the round that any relay of the beacon gives",
            chain.hash()
        )
    })?;
    Ok(verified)
}

fn differs(difference: Difference) -> Failure {
    failure!(
        "plan_differs",
        "this plan does NOT hold; the first difference: {difference}"
    )
}
