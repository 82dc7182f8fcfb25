//! Instant prizes: the library, `verify.py` and the certificate's script name the same difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use draw::Stop;

use crate::sample_plan::{FORGED, ForgedPlan, SamplePlan};
use crate::tampering::{python, script};

fn written(plan: &SamplePlan, folder: &Path, name: &str) -> PathBuf {
    let folder = folder.join(name);
    plan.write(&folder);
    folder
}

#[test]
fn played_plan_holds_in_three_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stopped = SamplePlan::new();
    // An entry within a stop may be passed over; a prize that is given back goes to the next.
    let at = stopped.winners().remove(2).accepted_at;
    let passed_over = stopped.rows.iter_mut().filter(|row| row.accepted_at >= at);
    passed_over.for_each(|row| row.prize = None);
    let from = u64::try_from(at.as_millis()).expect("after 1970");
    stopped.result.stops.push(Stop {
        from,
        to: from + 172_800_000,
    });
    stopped.count_given();
    stopped.log_days();
    let plans = [SamplePlan::new(), stopped];
    assert!(
        plans[0].result.given.iter().sum::<u64>() >= 5,
        "{:?}",
        plans[0].result
    );
    let folders = [0, 1].map(|at| {
        assert_eq!(plans[at].library(), None);
        written(&plans[at], folder.path(), &at.to_string())
    });
    assert_eq!(python(&folders), [None, None]);
    if let Some(said) = script(&folders) {
        assert_eq!(said, [None, None]);
    }
}

#[test]
fn three_programs_find_each_fault_of_a_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let folders: Vec<_> = FORGED
        .iter()
        .map(|forged| written(&forged.applied(), folder.path(), forged.what))
        .collect();
    let library: Vec<_> = FORGED
        .iter()
        .map(|forged| forged.applied().library())
        .collect();
    let programs = [Some(library), Some(python(&folders)), script(&folders)];
    for said in programs.into_iter().flatten() {
        for (ForgedPlan { what, expected, .. }, said) in FORGED.iter().zip(said) {
            let said = said.unwrap_or_default();
            assert!(said.contains(expected), "{what}: {said:?}");
        }
    }
}

#[test]
fn days_without_a_log_are_named_and_not_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let late = |plan: &mut SamplePlan| plan.result.days[0].logged_at += 86_400_000;
    let missing = |plan: &mut SamplePlan| {
        plan.result.days.remove(0);
    };
    // The second day begins after the last stop, and had no entry.
    let stopped = |plan: &mut SamplePlan| {
        let (from, to) = (1_798_145_999_000, 1_798_232_400_000);
        plan.rows
            .retain(|row| row.accepted_at.as_millis() < 1_798_145_999_000);
        plan.result.stops.push(Stop { from, to });
        plan.count_given();
        plan.log_days();
        plan.result.days.truncate(1);
    };
    let changes: [fn(&mut SamplePlan); 3] = [late, missing, stopped];
    let not_logged: [&[usize]; 3] = [&[0], &[0], &[]];
    let mut folders = Vec::new();
    for (number, (change, expected)) in changes.into_iter().zip(not_logged).enumerate() {
        let mut plan = SamplePlan::new();
        change(&mut plan);
        let verified = plan.verified().expect("it holds");
        assert_eq!(verified.not_logged, expected, "{number}");
        folders.push(written(&plan, folder.path(), &number.to_string()));
    }
    let printed = |folder: &PathBuf| {
        let mut program = Command::new("python3");
        let ran = program.arg(folder.join("verify.py")).arg(folder).output();
        let ran = ran.expect("python3 is installed");
        String::from_utf8_lossy(&ran.stdout).contains("Not logged within a day of their end")
    };
    let printed: Vec<_> = folders.iter().map(printed).collect();
    assert_eq!(printed, [true, true, false]);
    assert_eq!(python(&folders), [None, None, None]);
    if let Some(said) = script(&folders) {
        assert_eq!(said, [None, None, None]);
    }
}

/// The vectors of the design, in `verify.py`; the library's are in `common`.
#[test]
fn verify_py_gives_the_vectors() {
    const VECTORS: &str = r#"
import hashlib, json, pathlib, sys
program, _ = pathlib.Path(sys.argv[1]).read_text().split("\nif len(sys.argv)")
exec(program)
head = sys.argv[2].encode()
header = json.loads(head)
commitment = sha256(b"svc-instant-v1\n", head)
print(commitment.hex())
secret, randomness = hashlib.sha256(b"secret of the vector").digest(), bytes.fromhex(sys.argv[3])
seed = hmac.digest(secret, b"svc-instant-seed-v1\n" + commitment + randomness, "sha256")
print(seed.hex())
moments = moments_of(seed)
print(moments)
rows = [(int(at), hashlib.sha256(name.encode()).hexdigest(), who, int(prize) if prize else None, None)
        for at, name, who, prize in (row.split(",") for row in sys.argv[4].split())]
check_prize_rows(rows, moments, [])
print("ok", len(rows))
"#;
    const HEADER: &str = r#"{"algorithm":"svc-instant-v1","campaign":"chai-bora-2026","caps":{"day":1,"total":2},"chain":"52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971","curves":{"holiday":[2,1,1,1],"weekday":[1,1,1,1,1,2,4,8,10,10,10,10,12,12,10,10,10,14,18,20,20,14,6,3]},"days":[{"curve":"weekday","from":1798059600,"prizes":[5,1],"to":1798146000},{"curve":"holiday","from":1798146000,"prizes":[3,0],"to":1798232400}],"environment":"live","prizes":["Airtime 1,000","Simu"],"round":35085212,"secret":"7427de665d75452e8470ed24146debe125b97dc1f3cfdf07d8e18af6b0bc881f"}"#;
    const ROWS: &str = "1798079372037,A,a, 1798079372038,B,b,0 1798079372039,C,c, 1798097734907,D,b, \
        1798097800000,E,c,0 1798131131536,F,d,0 1798131131540,G,e,0 1798131536197,H,f,1 1798145999999,J,g,0 \
        1798146000000,K,b, 1798149646659,L,h,0 1798232399999,M,b,0 1798232399999,N,i,0";
    let randomness = "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587";
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify.py");
    let ran = Command::new("python3")
        .args(["-c", VECTORS])
        .arg(program)
        .args([HEADER, randomness, ROWS])
        .output()
        .expect("python3 is not installed: install it, or verify.py is not tested");
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "e8d5ba700a57540c41ba4e66af5d5d638810764fa1b1b2bd58ea3c0aaee434bd",
            "29be266afbf3912281b1356f90c7b01ee8ae3c687da86f36a6c716d996589fa2",
            "[[1798079372038, 1798082254278, 1798097734907, 1798126350165, 1798131536197, 1798149646659, 1798162036708, \
             1798202627157], [1798131109019]]",
            "ok 13"
        ],
        "{errors}"
    );
}

#[test]
fn plans_certificate_asks_for_nothing_and_names_are_no_markup() {
    let page = SamplePlan::new().certificate();
    assert!(
        page.contains("<h1>Chai &lt;b&gt;Bora&lt;/b&gt;</h1>") && !page.contains("Airtime <b>")
    );
    for outside in ["src=", "href=", "@import", "url(", "fetch(", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
}
