#!/usr/bin/env python3
"""Verifies a draw, or instant prizes by winning moments: python3 verify.py FOLDER [COMMITMENT [KEY GENESIS PERIOD]]
FOLDER has the published header.json, commitment.txt and result.json; of a draw entries.csv and, with the certificate, log.json; of
instant prizes secret.txt and rows.csv. COMMITMENT is what you copied before the round ("" if nothing). KEY, GENESIS and PERIOD are those of the beacon's chain, as its /info has them,
if it is not drand's quicknet. The signature needs: pip install py_ecc==8.0.0
"""
import bisect, datetime, hashlib, hmac, itertools, json, pathlib, re, struct, sys

# drand's chain quicknet: its key, and the time of its first round and the seconds between two.
QUICKNET = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
KEY = ("83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
       "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a")
GENESIS, PERIOD = 1692803367, 3
ALTERNATES = 20  # places of each order after the prizes of its tier, as far as there are rows
RULES = ["has_prize", "erased", "phone_deleted"]  # reasons of the rules; the others are given before an inspector
# What each reason has before it: the steps between drawn and skipped.
REASONS = {**dict.fromkeys(RULES, ""), "no_answer": "( no_answer){3}", "wrong_number": "(( no_answer)+|( no_answer)* reached)",
           **dict.fromkeys(["under_age", "not_identified"], ".* reached"), **dict.fromkeys(["declined", "not_collected"], ".* reached( identified)?"),
           **dict.fromkeys(["excluded", "revoked"], ".*")}
STEPS = ("drawn(( no_answer){0,3}( skipped)?|( no_answer){0,2} reached( identified)?( skipped)?"
         "|( no_answer){0,2} reached identified handed_over)")
# Controls, format characters (the category Cf of Unicode 16) and line separators. Python's own table is another one in each version.
UNSEEN = ("[\0-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
          "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]")

def sha256(*parts): return hashlib.sha256(b"".join(parts)).digest()
def check(holds, difference): holds or sys.exit(f"DIFFERENT: {difference}")

# Strict reading: a file means the same to every program, or it is refused.

def read_json(name, file, shape):
    def once(pairs):
        keys = [key for key, _ in pairs]
        for key in keys: check(keys.count(key) == 1, f"{name}: the key {key} occurs twice")
        return dict(pairs)
    def integer(text):
        check(re.fullmatch("0|[1-9][0-9]{0,15}", text) and int(text) < 2**53, f"{name}: {text} is not an integer from 0 to 2^53 - 1")
        return int(text)
    try:
        value = json.loads(file.decode("utf-8"), object_pairs_hook=once, parse_int=integer, parse_float=integer, parse_constant=integer)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # no half characters
    except (ValueError, RecursionError) as error: check(False, f"{name} is not JSON: {error}")
    shaped(name, value, shape)
    return value

def shaped(where, value, shape):
    """The value has the shape: exactly these keys, and each value as it has to be."""
    if isinstance(shape, dict):
        check(type(value) is dict, f"{where} is no object")
        for key in shape.keys() ^ value.keys(): check(False, f"{where}: the key {key} is missing, or is not known")
        for key in shape: shaped(f"{where}: {key}", value[key], shape[key])
    elif isinstance(shape, list):
        check(type(value) is list, f"{where} is no list")
        for item in value: shaped(where, item, shape[0])
    else: check(shape(value), f"{where} is {json.dumps(value)}, which cannot be")

def text(value): return type(value) is str
def matches(pattern): return lambda value: text(value) and bool(re.fullmatch(pattern, value))
def boolean(value): return type(value) is bool
def number(value): return type(value) is int
def positive(value): return number(value) and value > 0
def or_null(shape): return lambda value: value is None or shape(value)
def days(value): return type(value) is dict and all(day(key) and number(count) for key, count in value.items())
def seen(value):
    """Without what makes a text look like another one."""
    return text(value) and value != "" and value == value.strip() and not re.search(UNSEEN, value)
def name(value): return seen(value) and len(value) <= 64
def day(value):
    try: return bool(text(value) and re.fullmatch("[12][0-9]{3}-[0-9]{2}-[0-9]{2}", value) and datetime.date.fromisoformat(value))
    except ValueError: return False
def time(value):
    form = r"(.{10})T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.(?!000)[0-9]{3})?(Z|[+-](?!00:00)([01][0-9]|2[0-3]):[0-5][0-9])"
    return text(value) and bool(match := re.fullmatch(form, value)) and day(match[1])
def moment(value): return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
digest, references = matches("[0-9a-f]{64}"), "[A-Za-z0-9-]{1,64}(,[A-Za-z0-9-]{1,64})*"

HEADER = {"algorithm": matches("svc-draw-v1"), "campaign": name, "draw": name, "period": {"from": time, "to": time}, "rows": positive,
          "total": positive, "days": days, "left_out": {"blocked": days, "without_phone": days}, "overlapping": [{"draw": name, "commitment": digest}], "prizes": [{"name": name, "number": positive}],
          "one_prize_per_row": boolean, "chain": digest, "round": positive}
RESULT = {"round": positive, "signature": matches("[0-9a-f]{96}"), "randomness": digest,
          "tiers": [{"name": name, "prizes": positive, "order": [{"row": number, "ticket": number}]}]}
def weights(value): return type(value) is list and all(number(weight) and weight <= 10**6 for weight in value) and sum(value) > 0
def curves(value): return type(value) is dict and all(weights(curve) for curve in value.values())
PLAN = {"algorithm": matches("svc-instant-v1"), "campaign": name, "caps": {"day": positive, "total": positive}, "chain": digest, "curves": curves,
        "days": [{"curve": text, "from": number, "prizes": [number], "to": number}], "environment": matches("test|live"),
        "prizes": [lambda value: seen(value) and len(value) <= 120], "round": positive, "secret": digest}
OUTCOME = {"round": positive, "signature": matches("[0-9a-f]{96}"), "randomness": digest, "given": [number],
           "stops": [{"from": number, "to": number}], "days": [{"day": number, "sha256": digest, "logged_at": number}], "other_plans": [digest]}
LOG = {"frozen_at": time, "published_at": time, "drawn_at": time, "places": [{
           "tier": name, "place": positive, "row": number, "reference": or_null(seen), "region": or_null(seen), "phone": or_null(seen),
           "opening": or_null(matches(f"svc-draw-entry-v1\n{references}\n[0-9a-f]{{32}}")), "steps": [{
               "at": time, "is": matches("drawn|no_answer|reached|identified|handed_over|skipped"), "reason": or_null(text), "inspector": or_null(seen)}]}]}

# The computation.

def read_rows(lines):
    """The hashes and first tickets of the rows, and the number of tickets."""
    hashes, starts, end = [], [], 0
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"([0-9a-f]{64}),(0|[1-9][0-9]{0,19}),([1-9][0-9]{0,19})\n", line)
        check(match, f"entries.csv, line {number} is not a hash, a start and a count")
        check(int(match[2]) == end, f"entries.csv, line {number} starts at {match[2]}, but the lines above it end before {end}")
        check(not hashes or match[1] > hashes[-1], f"entries.csv, line {number} has a hash that is not above the one of the line before")
        hashes.append(match[1])
        starts.append(end)
        end += int(match[3])
    return hashes, starts, end

def merkle_root(lines):
    """RFC 9162, section 2.1: neighbours are joined level by level; one without a neighbour goes up as it is."""
    level = [sha256(b"\0", line.rstrip("\n").encode()) for line in lines]
    while (size := len(level)) > 1:
        level = [sha256(b"\1", *level[at:at + 2]) if at + 1 < size else level[at] for at in range(0, size, 2)]
    return level[0]

def order(tier):
    """Rows by the first of their tickets that is drawn. Values that would favour low tickets are dropped."""
    seed = sha256(b"svc-draw-seed-v1\n", commitment, randomness, tier.encode())
    seen, limit = set(), 2**64 - 2**64 % total
    for block in itertools.count():
        for value in struct.unpack(">4Q", hmac.digest(seed, struct.pack(">Q", block), "sha256")):
            row = bisect.bisect_right(starts, value % total) - 1
            if value < limit and row not in seen:
                seen.add(row)
                yield {"row": row, "ticket": value % total}
        if len(seen) == len(starts): return

def signature_holds(key, round, signature):
    """BLS12-381 with signatures in G1: e(signature, g2) = e(hash of the round, key)."""
    from py_ecc.bls import g2_primitives, hash_to_curve, point_compression
    from py_ecc.optimized_bls12_381 import G2, pairing
    key = point_compression.decompress_G2((int.from_bytes(key[:48], "big"), int.from_bytes(key[48:], "big")))
    point, domain = point_compression.decompress_G1(int.from_bytes(signature, "big")), b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
    message = hash_to_curve.hash_to_G1(sha256(struct.pack(">Q", round)), domain, hashlib.sha256)
    return g2_primitives.subgroup_check(point) and pairing(G2, point) == pairing(key, message)

# The log of calls: times, winners and skips.

def skip_of(place): return place["steps"][-1] if place["steps"][-1]["is"] == "skipped" else None
def is_open(place): return skip_of(place) is None
def held_at(place, at):
    """True if the place had its prize at that time. What follows from the rules was skipped when it was drawn."""
    skip = skip_of(place)
    return moment(place["steps"][0]["at"]) <= at and (not skip or moment(skip["at"]) >= at and skip["reason"] not in RULES)

def check_place(place, named, row_hash, given_at):
    steps, opening, fails = place["steps"], place["opening"], lambda holds, why: check(holds, f"log.json: the steps of {named} {why}")
    names = " ".join(step["is"] for step in steps)
    fails(names.startswith("drawn"), "do not begin with drawn")
    fails(re.fullmatch(STEPS, names), "do not follow each other")
    calls = [moment(step["at"]) for step in steps if step["is"] in ("no_answer", "reached")]
    fails(all(after - before >= datetime.timedelta(minutes=1) for before, after in zip(calls, calls[1:])), "have calls that are not a minute apart")
    times = [given_at] + [moment(step["at"]) for step in steps]
    fails(times == sorted(times), "have a time before the round, or before the step above")
    bare = [step for step in steps if step["is"] != "skipped"]
    fails(all(step["reason"] is None and step["inspector"] is None for step in bare), "have a reason or an inspector without a skip")
    if skip := skip_of(place):
        reason = skip["reason"]
        fails(reason in REASONS, "have a skip without a known reason")
        fails(re.fullmatch(f"drawn{REASONS[reason]} skipped", names), "have a reason that does not follow from the calls before it")
        fails((reason in RULES) == (skip["inspector"] is None), "have a skip of an operator without an inspector, or one of the rules with one")
        fails(reason not in ("erased", "phone_deleted") or opening is None, "say that the person is not known any more, but the opening is there")
    refs = opening.split("\n")[1].split(",") if opening else [None]
    check(place["reference"] in refs, f"log.json: no opening proves the reference of {named}")
    check(not opening or refs == sorted(set(refs)), f"log.json: the opening of {named} is not in order")
    check(not opening or sha256(opening.encode()).hex() == row_hash, f"entries.csv, line {place['row'] + 1} has another hash than the opening of row {place['row']}")

def check_log(log, given_at):
    to = header["period"]["to"]
    for key in ("frozen_at", "published_at"):
        check(moment(to) < moment(log[key]) < given_at, f"log.json says {key} {log[key]}, which is not between the end of the period, {to}, and the round, {given_at}")
    frozen_at, published_at, drawn_at = (log[key] for key in ("frozen_at", "published_at", "drawn_at"))
    check(moment(frozen_at) <= moment(published_at), f"log.json says frozen_at {frozen_at}, which is after published_at, {published_at}")
    check(moment(drawn_at) >= given_at, f"log.json says drawn_at {drawn_at}, which is before the round, {given_at}")
    for place in log["places"]:
        check(place["tier"] in [prize["name"] for prize in header["prizes"]], f"log.json has a prize {place['tier']} that header.json does not have")
    for tier in [prize["name"] for prize in header["prizes"]]:
        own = [place for place in log["places"] if place["tier"] == tier]
        for at, (place, drawn) in enumerate(itertools.zip_longest(own, itertools.islice(order(tier), len(own))), 1):
            check(place["place"] == at and drawn, f"log.json leaves out place {at} of {tier}, or has more places than there are rows")
            check(place["row"] == drawn["row"], f"log.json has row {place['row']} as place {at} of {tier}, but the order has row {drawn['row']}")
            check_place(place, f"place {at} of {tier}", hashes[place["row"]], given_at)
    for one in log["places"]:
        others = [place for place in log["places"] if place is not one and place["row"] == one["row"]]
        named, skip = f"place {one['place']} of {one['tier']}", skip_of(one)
        check(not header["one_prize_per_row"] or not is_open(one) or not any(map(is_open, others)),
              f"log.json: {named} has a prize, but the same row has another one, and header.json gives one to each entrant")
        check(not skip or skip["reason"] != "has_prize" or header["one_prize_per_row"] and any(held_at(other, moment(skip["at"])) for other in others),
              f"log.json: {named} was skipped because of another prize of the same row, but it had none")
    for tier, number in [(prize["name"], prize["number"]) for prize in header["prizes"]]:
        own = [place for place in log["places"] if place["tier"] == tier]
        winners = sum(map(is_open, own))
        check(winners == number or winners < number and len(own) == len(hashes), f"log.json has {winners} winners of {tier}, but there are {number} prizes")
        for at, place in enumerate(own[number:], number):
            drawn_at = moment(place["steps"][0]["at"])
            skipped = sum(not is_open(other) and moment(skip_of(other)["at"]) <= drawn_at for other in own[:at])
            check(at < number + skipped, f"log.json: place {at + 1} of {tier} was drawn before a skip opened it")

# Instant prizes: moments that follow from the secret, and entries that take them.

TOLERANCE = 10_000  # milliseconds in which clocks of the service differ, and writes overtake each other
ROW = re.compile("([0-9]{13}),([0-9a-f]{64}),([0-9a-f]{64}),(0|1?[1-9]|10|),([0-9]{13}|)\n")

def check_plan():
    prizes, days = header["prizes"], header["days"]
    check(1 <= len(prizes) == len(set(prizes)) <= 20, "header.json: there are not 1 to 20 prizes, each once")
    check(1 <= len(days) <= 731, "header.json: there are not 1 to 731 days")
    for at, day in enumerate(days):
        fails = lambda holds, why: check(holds, f"header.json: days[{at}] {why}")
        fails(day["from"] < day["to"], "ends before it begins")
        fails(at == 0 or days[at - 1]["to"] == day["from"], "does not begin where the day before ends")
        fails(day["curve"] in header["curves"], "names no curve of the plan")
        curve, length = header["curves"][day["curve"]], (day["to"] - day["from"]) * 1000
        fails(length % len(curve) == 0, "does not divide into the parts of its curve")
        fails(sum(curve) * length // len(curve) < 2**53, "has too much weight")
        fails(len(day["prizes"]) == len(prizes) and sum(day["prizes"]) <= 20000, "does not have a number of each prize, at most 20000 in all")

def moment_of(seed, day, prize, i):
    """Milliseconds since 1970; the parts of a day are as likely as its curve says."""
    digest = hmac.digest(seed, b"svc-instant-moment-v1\n" + struct.pack(">3I", day, prize, i), "sha256")
    day = header["days"][day]
    curve = header["curves"][day["curve"]]
    part = (day["to"] - day["from"]) * 1000 // len(curve)
    left = int.from_bytes(digest[:8], "big") * sum(curve) * part >> 64
    for start, weight in enumerate(curve):
        if left < part * weight: return day["from"] * 1000 + start * part + left // weight
        left -= part * weight

def moments_of(seed):
    """All moments of each prize, in order."""
    numbers = lambda prize: ((at, i) for at, day in enumerate(header["days"]) for i in range(day["prizes"][prize]))
    return [sorted(moment_of(seed, at, prize, i) for at, i in numbers(prize)) for prize in range(len(header["prizes"]))]

def read_prize_rows(file):
    """Accepted entries: time, digest of the reference, entrant, prize or None, time at which it was given back or None."""
    rows, whole = [], lambda text: int(text) if text else None
    for number, line in enumerate(re.findall("[^\n]*\n|[^\n]+$", file.decode("latin-1")), 1):
        match, fails = ROW.fullmatch(line), lambda holds, why: check(holds, f"rows.csv, line {number} {why}")
        fails(match, "is not a time, two digests, a prize or none, and a time or none")
        row = (int(match[1]), match[2], match[3], whole(match[4]), whole(match[5]))
        fails(not rows or rows[-1][:2] < row[:2], "is not after the line before")
        fails(row[0] >= header["days"][0]["from"] * 1000, "is before the first day")
        fails(row[4] is None or row[3] is not None and row[4] >= row[0], "gives back a prize that it did not have")
        fails(row[3] is None or row[3] < len(header["prizes"]), "won a prize that the plan does not have")
        rows.append(row)
    return rows

def check_prize_rows(rows, moments, stops):
    """Prizes given never exceed moments due, and an entry that could have had a prize is passed over only if another has it at once."""
    days, caps = [day["from"] * 1000 for day in header["days"]], header["caps"]
    due = lambda prize, at: bisect.bisect_right(moments[prize], at)
    inside = lambda at, wider: any(stop["from"] - wider <= at < stop["to"] + wider for stop in stops)
    totals, by_day, names, waiting = {}, {}, set(), []
    # The time of a return is in doubt by the tolerance: `least` lowers its count early, `most` late.
    least, most = [0] * len(moments), [0] * len(moments)
    early = sorted((back - TOLERANCE, prize) for _, _, _, prize, back in rows if back is not None)
    late = [(back + 2 * TOLERANCE, prize) for back, prize in early]
    for number, (at, name, who, prize, _) in enumerate(rows, 1):
        fails = lambda holds, why: check(holds, f"rows.csv, line {number}: {name} {why}")
        while early and early[0][0] <= at: least[early.pop(0)[1]] -= 1
        while late and late[0][0] <= at: most[late.pop(0)[1]] -= 1
        fails(name not in names, "is there twice")
        names.add(name)
        key = who, bisect.bisect_right(days, at)
        capped = totals.get(who, 0) >= caps["total"] or by_day.get(key, 0) >= caps["day"]
        if prize is not None:
            fails(not capped, "is over the cap")
            fails(not inside(at, -TOLERANCE), "won while nothing could be won")
            least[prize], most[prize] = least[prize] + 1, most[prize] + 1
            fails(least[prize] <= due(prize, at), f"won before a moment was due: {least[prize]} given, {due(prize, at)} due")
            totals[who], by_day[key] = totals.get(who, 0) + 1, by_day.get(key, 0) + 1
            waiting = [one for one in waiting if at - one[0] > TOLERANCE or one[1] != prize and one[2] != who]
        elif not capped and not inside(at, TOLERANCE):
            open_prizes = [one for one in range(len(moments)) if due(one, at) > most[one]]
            if open_prizes: waiting.append((at, open_prizes[0], who, number, name))
        for then, _, _, number, name in waiting:
            check(at - then <= TOLERANCE, f"rows.csv, line {number}: {name} entered while a prize was open, and did not win")
    for _, _, _, number, name in waiting: check(False, f"rows.csv, line {number}: {name} entered while a prize was open, and did not win")

def check_days(rows, logged, stops):
    """The wins and stops of each day are those that were logged when it ended."""
    first, last = header["days"][0]["from"] * 1000, -1
    for one in logged:
        day, fails = one["day"], lambda holds, why: check(holds, f"result.json: day {one['day']} {why}")
        fails(last < day < len(header["days"]), "is not in order, or header.json does not have it")
        last, start, end = day, *(header["days"][day][key] * 1000 for key in ("from", "to"))
        fails(one["logged_at"] >= end, "was logged before it ended")
        won = [row for row in rows[bisect.bisect_left(rows, (start,)):bisect.bisect_left(rows, (end,))] if row[3] is not None]
        turns = [("stop", stop["from"]) for stop in stops if stop["from"] > first] + [("start", stop["to"]) for stop in stops]
        lines = [f"{at:013},{name},{who},{prize}\n" for at, name, who, prize, _ in won] + [f"{turn},{at:013}\n" for turn, at in turns if start <= at < end]
        check(sha256("".join(sorted(lines)).encode()).hex() == one["sha256"],
              f"day {day}'s wins are not those that were logged: rows.csv and the stops of result.json do not lead to {one['sha256']}")

def days_not_logged(logged, stops):
    """Days that were not logged, or more than a day later. A day after the last stop had no entry."""
    in_time = {one["day"] for one in logged if one["logged_at"] <= header["days"][one["day"]]["to"] * 1000 + 86_400_000}
    return [at for at, day in enumerate(header["days"]) if at not in in_time and (not stops or day["from"] * 1000 < stops[-1]["from"])]

# The files. What draws and instant prizes have in common comes first.

def read_files(*names):
    try: return [pathlib.Path(folder, name).read_bytes() for name in names]
    except OSError as error: sys.exit(f"NOT VERIFIED: {error}")

def check_commitment(covered, *parts):
    commitment = sha256(*parts)
    check(re.fullmatch(b"[0-9a-f]{64}\n?", published), "commitment.txt is not 64 lower-case hexadecimal digits")
    check(published.decode().strip() == commitment.hex(), f"commitment.txt says {published.decode().strip()}, but {covered} to {commitment.hex()}")
    check(re.sub(r"\s", "", copied).lower() in ("", commitment.hex()), f"the commitment is {commitment.hex()}, and not the one that you copied")
    return commitment

def round_time():
    seconds = int(genesis) + int(period) * (header["round"] - 1)
    check(seconds < 32503680000, f"round {header['round']} of the chain has no time before the year 3000")
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)

def read_result(shape):
    result = read_json("result.json", outcome, shape)
    check(result["round"] == header["round"], f"result.json is of round {result['round']}, but header.json names round {header['round']}")
    signature = bytes.fromhex(result["signature"])
    randomness = sha256(signature)
    check(randomness.hex() == result["randomness"], f"result.json has the randomness {result['randomness']}, but its signature leads to {randomness.hex()}")
    return result, signature, randomness

def check_known_chain():
    if not key: sys.exit(f"NOT VERIFIED: the chain {header['chain']} is not drand's quicknet, and the holder of its key knows the winners in advance; name KEY, GENESIS and PERIOD")

if len(sys.argv) not in (2, 3, 6): sys.exit(__doc__)
folder, copied, key, genesis, period = (sys.argv[1:] + ["", "", "", ""])[:5]
is_instant = pathlib.Path(folder, "rows.csv").exists()
entries, head, published, outcome = read_files("rows.csv" if is_instant else "entries.csv", "header.json", "commitment.txt", "result.json")
header = read_json("header.json", head, PLAN if is_instant else HEADER)
is_public = header["chain"] == QUICKNET
if is_public: key, genesis, period = KEY, GENESIS, PERIOD

def verify_draw():
    global prizes, lines, hashes, starts, total, commitment, randomness
    prizes = [(prize["name"], prize["number"]) for prize in header["prizes"]]
    check(moment(header["period"]["from"]) < moment(header["period"]["to"]), "header.json: the period ends before it begins")
    check(prizes, "header.json: there is no prize")
    check(len(dict(prizes)) == len(prizes), "header.json: two prizes have the same name")
    check(sum(count for _, count in prizes) < 2**53, "header.json: the prizes are above 2^53 - 1")
    check(sum(header["days"].values()) == header["total"], "header.json: the entries of the days do not add up to the total")
    lines = re.findall("[^\n]*\n|[^\n]+$", entries.decode("latin-1"))
    hashes, starts, total = read_rows(lines)
    check(len(lines) == header["rows"], f"entries.csv has {len(lines)} lines, but header.json says {header['rows']} rows")
    check(total == header["total"], f"entries.csv has {total} entries, but header.json says {header['total']}")
    commitment = check_commitment("header.json and entries.csv lead", b"svc-draw-v1\n", head, b"\n", merkle_root(lines))
    check_known_chain()
    given_at = round_time()
    check(given_at > moment(header["period"]["to"]), f"round {header['round']} was given at {given_at}, but the period ends at {header['period']['to']}: the randomness was known while entries could be added")
    result, signature, randomness = read_result(RESULT)
    check([(tier["name"], tier["prizes"]) for tier in result["tiers"]] == prizes, "result.json does not have the prizes of header.json")
    for tier in result["tiers"]:
        found, needed = tier["order"], min(tier["prizes"] + ALTERNATES, len(lines))
        check(needed <= len(found) <= len(lines), f"result.json has {len(found)} places for {tier['name']}, but {needed} to {len(lines)} have to be there")
        for place, (row, computed) in enumerate(zip(found, order(tier["name"])), 1):
            check(row == computed, f"result.json, place {place} of {tier['name']} is row {row['row']} by ticket {row['ticket']}, but the computation gives row {computed['row']} by ticket {computed['ticket']}")
    log = pathlib.Path(folder, "log.json")
    if log.exists(): check_log(read_json("log.json", log.read_bytes(), LOG), given_at)
    said = f"{len(lines)} entrants with {total} entries, commitment {commitment.hex()}{', with its log of calls' if log.exists() else ''}"
    return given_at, signature, said

def verify_instant():
    check(json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == head, "header.json is written in another form")
    check_plan()
    commitment = check_commitment("header.json leads", b"svc-instant-v1\n", head)
    secret, = read_files("secret.txt")
    check(re.fullmatch(b"[0-9a-f]{64}\n?", secret), "secret.txt is not 64 lower-case hexadecimal digits")
    secret = bytes.fromhex(secret.decode())
    check(sha256(secret).hex() == header["secret"], f"secret.txt leads to {sha256(secret).hex()}, but header.json says {header['secret']}")
    check_known_chain()
    given_at, first = round_time(), header["days"][0]["from"]
    check(given_at.timestamp() < first, f"round {header['round']} was given at {given_at}, but the first day begins at {first}")
    result, signature, randomness = read_result(OUTCOME)
    times = [time for stop in result["stops"] for time in (stop["from"], stop["to"])]
    check(all(one < next for one, next in zip(times, times[1:])), "result.json has stops that are not in order")
    moments = moments_of(hmac.digest(secret, b"svc-instant-seed-v1\n" + commitment + randomness, "sha256"))
    rows = read_prize_rows(entries)
    check_prize_rows(rows, moments, result["stops"])
    given = [sum(row[3] == prize and row[4] is None for row in rows) for prize in range(len(moments))]
    check(result["given"] == given, f"result.json says that {result['given']} prizes were given, but rows.csv has {given}")
    check_days(rows, result["days"], result["stops"])
    if days := days_not_logged(result["days"], result["stops"]): print(f"Not logged within a day of their end, so that their wins could be changed: days {', '.join(map(str, days))}.")
    if after := sum(row[3] is not None and row[0] >= header["days"][-1]["to"] * 1000 for row in rows): print(f"Won after the last day, which no log has: {after} prizes.")
    for stop in result["stops"]: print(f"Stopped from {stop['from']} to {stop['to']} (milliseconds since 1970): nothing could be won.")
    for other in result["other_plans"]: print(f"Another plan of this campaign was published: {other}. Ask why.")
    return given_at, signature, f"{len(rows)} entries with {sum(given)} prizes of {sum(map(len, moments))}, commitment {commitment.hex()}"

given_at, signature, said = verify_instant() if is_instant else verify_draw()
print(f"FOLLOWS: {said}")
print(f"Round {header['round']} was given at {given_at}: your copy of the commitment has to be older.")
if not is_public: print("This chain is not drand's quicknet: the holder of its key knows the winners in advance.")
try: check(signature_holds(bytes.fromhex(key), header["round"], signature), "the signature is not of this chain and round")
except ImportError: sys.exit(f"NOT VERIFIED: the signature; install py_ecc, or compare with https://api.drand.sh/{header['chain']}/public/{header['round']}")
except ValueError: check(False, "the signature is no point of the curve")
print("HOLDS: the signature is the beacon's")
