"""Tries every alarm's condition with values that should trigger it and values that should not.

The emulator evaluates alarms on one metric, by the metric's name and statistic. It ignores alarms with an expression, so those are evaluated here.
"""

import re
import time

import yaml

from emulator import fail

# For each alarm with an expression: values that must trigger it, and values that must not.
EXPRESSIONS = {
    "CodeGuessing": (
        {"wrong": 120, "entries": 200, "checks": 100},
        [{"wrong": 120, "entries": 4000, "checks": None}, {"wrong": 60, "entries": 60, "checks": None}],
    ),
    "GuessesThrottled": (
        {"slowed": 60, "entries": 100, "checks": 200, "lookups": 100},
        [
            {"slowed": 60, "entries": 100, "checks": 200, "lookups": 300},
            {"slowed": 10, "entries": 10, "checks": None, "lookups": None},
        ],
    ),
    "KeysRefused": ({"refused": 40, "all": 400}, [{"refused": 40, "all": 4000}, {"refused": 10, "all": 10}]),
    "TooManyRequests": ({"refused": 40, "all": 400}, [{"refused": 40, "all": 4000}, {"refused": 10, "all": 10}]),
    # Every call of a canary fails, at twenty calls a minute; two errors; a few among many.
    "ServerErrors": ({"failed": 20, "all": 200}, [{"failed": 2, "all": 2}, {"failed": 9, "all": 200}]),
    "TablesThrottledWrites": ({"m0": 20, "m6": 30}, [{"m0": 20, "m6": 20}]),
    "TablesThrottledReads": ({"m2": 50}, [{"m2": 49}]),
}
COMPARISONS = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}


def try_alarms(stack, built):
    cloudwatch = stack.emulator.client("cloudwatch")
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stack.name}-")
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
    # The emulator ignores dimensions, so alarms on one metric are tried together.
    by_metric = {}
    for alarm in alarms:
        if not alarm["AlarmActions"]:
            fail(f"{alarm['AlarmName']} has no action")
        by_metric.setdefault((alarm["Namespace"], alarm["MetricName"], alarm["ComparisonOperator"]), []).append(alarm)
    for (_, _, comparison), same in by_metric.items():
        if comparison.startswith("Greater"):
            try_rising(cloudwatch, sorted(same, key=lambda alarm: alarm["Threshold"]))
        else:
            for alarm in same:
                try_falling(cloudwatch, alarm)
    # The functions' alarms are all from one template.
    folders = [built / "Monitoring", built / "Monitoring" / "CreateSubmissionAlarms"]
    templates = [yaml.safe_load((folder / "template.yaml").read_text())["Resources"] for folder in folders]
    every = [(name, one["Properties"]) for resources in templates for name, one in resources.items()]
    with_expression = {name: properties for name, properties in every if "Metrics" in properties}
    if with_expression.keys() != EXPRESSIONS.keys():
        fail(f"alarms with an expression that differ from EXPRESSIONS: {with_expression.keys() ^ EXPRESSIONS.keys()}")
    for name, alarm in with_expression.items():
        try_expression(name, alarm)
    print(f"ok   {len(alarms)} alarms triggered by their metric (put-metric-data, evaluated by the emulator)")
    print(f"ok   {len(with_expression)} alarms with an expression trigger exactly when they should (evaluated here)", flush=True)


def try_rising(cloudwatch, alarms):
    """No alarm triggers just below the lowest threshold, and each triggers above its own."""
    report(cloudwatch, alarms[0], max(alarms[0]["Threshold"] - 1, 0))
    for alarm in alarms:
        expect(cloudwatch, alarm, "OK")
    for alarm in alarms:
        report(cloudwatch, alarm, alarm["Threshold"] + 1)
        expect(cloudwatch, alarm, "ALARM")


def try_falling(cloudwatch, alarm):
    report(cloudwatch, alarm, alarm["Threshold"] - 1)
    expect(cloudwatch, alarm, "ALARM")
    report(cloudwatch, alarm, alarm["Threshold"] + 1)
    expect(cloudwatch, alarm, "OK")


def expect(cloudwatch, alarm, state):
    found = cloudwatch.describe_alarms(AlarmNames=[alarm["AlarmName"]])["MetricAlarms"][0]
    if found["StateValue"] != state:
        fail(f"{alarm['AlarmName']} is {found['StateValue']} instead of {state}: {found.get('StateReason')}")


def report(cloudwatch, alarm, value):
    """Reports data that raise the alarm's statistic to the value, on top of earlier data."""
    statistic = alarm.get("ExtendedStatistic") or alarm["Statistic"]
    # One datum is enough for a sum or a maximum; a percentile needs a hundred.
    copies = 100 if statistic.startswith("p") else 1
    datum = {"MetricName": alarm["MetricName"], "Dimensions": alarm["Dimensions"], "Timestamp": time.time()}
    data = [datum | {"Value": value, "Unit": "None"}] * copies
    cloudwatch.put_metric_data(Namespace=alarm["Namespace"], MetricData=data)


def try_expression(name, alarm):
    ringing, quiet = EXPRESSIONS[name]
    ids = [part["Id"] for part in alarm["Metrics"] if "MetricStat" in part]
    expression = next(part["Expression"] for part in alarm["Metrics"] if "Expression" in part)
    for figures, expected in [(ringing, True), *((figures, False) for figures in quiet)]:
        value = worked_out(expression, {one: figures.get(one) for one in ids})
        rings = COMPARISONS[alarm["ComparisonOperator"]](value, alarm["Threshold"])
        if rings != expected:
            fail(f"{name} {'triggers' if rings else 'does not trigger'} at {figures}: {expression} is {value}")


def worked_out(expression, figures):
    """Evaluates a CloudWatch expression of IF, FILL and SUM(METRICS()) over one period. A metric without data is None."""
    names = {
        "IF": lambda condition, then, otherwise: then if condition else otherwise,
        "FILL": lambda value, filling: filling if value is None else value,
        "SUM": sum,
        "METRICS": lambda: [value for value in figures.values() if value is not None],
    }
    if re.sub(r"[A-Za-z0-9_ ><=*/+(),.]", "", expression):
        fail(f"this expression cannot be evaluated here: {expression}")
    # The expression can use only these names.
    return eval(expression, {"__builtins__": {}}, names | figures)
