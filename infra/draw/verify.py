#!/usr/bin/env python3
"""Verifies a draw: python3 verify.py FOLDER [COMMITMENT [KEY]]
FOLDER has the published entries.csv, header.json, commitment.txt and result.json; COMMITMENT is what you copied before the
draw ("" if nothing); KEY is the beacon's, if it is not drand's quicknet. The signature needs: pip install py_ecc==8.0.0
"""
import bisect, hashlib, hmac, itertools, json, pathlib, re, struct, sys

QUICKNET = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"  # drand's chain, and its key
KEY = ("83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
       "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a")

def sha256(*parts): return hashlib.sha256(b"".join(parts)).digest()
def check(holds, difference): holds or sys.exit(f"DIFFERENT: {difference}")

def read_rows(lines):
    """The first ticket of each row, and the number of tickets."""
    starts, end, last = [], 0, ""
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"([0-9a-f]{64}),(0|[1-9][0-9]*),([1-9][0-9]*)\n", line)
        check(match, f"entries.csv, line {number} is not a hash, a start and a count")
        check(int(match[2]) == end, f"entries.csv, line {number} starts at {match[2]}, but the lines above end before {end}")
        check(match[1] > last, f"entries.csv, line {number} has a hash that is not above the one of the line before")
        starts.append(end)
        last, end = match[1], end + int(match[3])
    return starts, end

def merkle_root(lines):
    """RFC 9162, section 2.1: neighbours are joined level by level; one without a neighbour goes up as it is."""
    level = [sha256(b"\0", line.rstrip("\n").encode()) for line in lines]
    while (size := len(level)) > 1:
        level = [sha256(b"\1", *level[at:at + 2]) if at + 1 < size else level[at] for at in range(0, size, 2)]
    return level[0]

def order(seed, starts, total):
    """Rows by the first of their tickets that is drawn. Values that would favour low tickets are dropped."""
    seen, limit = set(), 2**64 - 2**64 % total
    for block in itertools.count():
        for value in struct.unpack(">4Q", hmac.digest(seed, struct.pack(">Q", block), "sha256")):
            row = bisect.bisect_right(starts, value % total) - 1
            if value < limit and row not in seen:
                seen.add(row)
                yield {"row": row, "ticket": value % total}

def signature_holds(key, round, signature):
    """BLS12-381 with signatures in G1: e(signature, g2) = e(hash of the round, key)."""
    from py_ecc.bls import g2_primitives, hash_to_curve, point_compression
    from py_ecc.optimized_bls12_381 import G2, pairing
    key = point_compression.decompress_G2((int.from_bytes(key[:48], "big"), int.from_bytes(key[48:], "big")))
    point, domain = point_compression.decompress_G1(int.from_bytes(signature, "big")), b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
    message = hash_to_curve.hash_to_G1(sha256(struct.pack(">Q", round)), domain, hashlib.sha256)
    return g2_primitives.subgroup_check(point) and pairing(G2, point) == pairing(key, message)

if len(sys.argv) < 2: sys.exit(__doc__)
folder, copied, key = (sys.argv[1:] + ["", ""])[:3]
entries, head, published, result = (pathlib.Path(folder, name).read_bytes() for name in ("entries.csv", "header.json", "commitment.txt", "result.json"))
lines, header, result = entries.decode("latin-1").splitlines(True), json.loads(head), json.loads(result)
starts, total = read_rows(lines)
for name, found, said in (("rows", len(lines), header["rows"]), ("total", total, header["total"]), ("days", total, sum(header["days"].values()))):
    check(found == said, f"entries.csv has {found} as {name}, but header.json says {said}")
commitment = sha256(b"svc-draw-v1\n", head, b"\n", merkle_root(lines))
for said in (published.decode("latin-1"), copied or commitment.hex()):
    check(re.sub(r"\s", "", said).lower() == commitment.hex(), f"the commitment is {said.strip()}, but header.json and entries.csv lead to {commitment.hex()}")
check(result["round"] == header["round"], f"result.json is of round {result['round']}, not of {header['round']}")
check(re.fullmatch("[0-9a-f]{96}", result["signature"]), "result.json: the signature is not 48 bytes in lower-case hexadecimal")
randomness = sha256(signature := bytes.fromhex(result["signature"]))
check(randomness.hex() == result["randomness"], f"result.json: the signature leads to the randomness {randomness.hex()}")
prizes, places = [{"name": tier["name"], "number": tier["prizes"]} for tier in result["tiers"]], 20  # alternates
check(prizes == header["prizes"], "result.json does not have the prizes of header.json")
for tier in result["tiers"]:
    name, found, places = tier["name"], tier["order"], places + tier["prizes"]
    check(min(places, len(lines)) <= len(found) <= len(lines), f"result.json has {len(found)} places for {name}")
    seed = sha256(b"svc-draw-seed-v1\n", commitment, randomness, name.encode())
    for place, (row, computed) in enumerate(zip(found, order(seed, starts, total)), 1):
        check(row == computed, f"result.json, place {place} of {name} is {row}, but the computation gives {computed}")
print(f"FOLLOWS: {len(lines)} entrants with {total} entries, commitment {commitment.hex()}, round {header['round']}")
key = key or (KEY if header["chain"] == QUICKNET else sys.exit("NOT VERIFIED: the signature; name the key of this chain"))
try: check(signature_holds(bytes.fromhex(key), header["round"], signature), "the signature is not of this chain and round")
except ImportError: sys.exit("NOT VERIFIED: the signature; install py_ecc, or compare with the round at https://api.drand.sh")
except ValueError: check(False, "the signature is no point of the curve")
print("HOLDS: the signature is the beacon's")
