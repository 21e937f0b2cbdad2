"""Prints the price data of an unpacked genai-prices wheel in the form of its `data.json`: what prices hang on."""

import importlib
import json
import sys
import types
from decimal import Decimal
from pathlib import Path

# The package without its `__init__`, which needs a library for the network.
package = types.ModuleType('genai_prices')
package.__path__ = [str(Path(sys.argv[1]) / 'genai_prices')]
sys.modules['genai_prices'] = package

RULES = {
    'ClauseStartsWith': 'starts_with',
    'ClauseEndsWith': 'ends_with',
    'ClauseContains': 'contains',
    'ClauseRegex': 'regex',
    'ClauseEquals': 'equals',
}


def number(value):
    return int(value) if value == value.to_integral_value() else float(value)


def match(clause):
    kind = type(clause).__name__
    if kind == 'ClauseOr':
        return {'or': [match(one) for one in clause.or_]}
    if kind == 'ClauseAnd':
        return {'and': [match(one) for one in clause.and_]}
    return {RULES[kind]: getattr(clause, RULES[kind])}


def rate(value):
    if isinstance(value, Decimal):
        return number(value)
    tiers = [{'start': tier.start, 'price': number(tier.price)} for tier in value.tiers]
    return {'base': number(value.base), 'tiers': tiers}


def prices(listed):
    return {key: rate(value) for key, value in vars(listed).items() if value is not None}


def time(value):
    return value.isoformat().replace('+00:00', 'Z') if value.tzinfo else f'{value.isoformat()}Z'


def constraint(one):
    if one is None:
        return {}
    if hasattr(one, 'start_date'):
        return {'constraint': {'start_date': one.start_date.isoformat()}}
    return {'constraint': {'start_time': time(one.start_time), 'end_time': time(one.end_time)}}


def model(one):
    dated = one.prices
    if isinstance(dated, list):
        listed = [{**constraint(entry.constraint), 'prices': prices(entry.prices)} for entry in dated]
    else:
        listed = prices(dated)
    variants = [
        {'when': variant.when, **constraint(variant.constraint), 'prices': prices(variant.prices)}
        for variant in getattr(one, 'price_variants', None) or []
    ]
    return {
        'id': one.id,
        'match': match(one.match),
        'prices': listed,
        **({'price_variants': variants} if variants else {}),
    }


def provider(one):
    fallbacks = getattr(one, 'fallback_model_providers', None)
    return {
        'id': one.id,
        **({'fallback_model_providers': list(fallbacks)} if fallbacks else {}),
        'models': [model(listed) for listed in one.models],
    }


print(json.dumps([provider(one) for one in importlib.import_module('genai_prices.data').providers]))
