"""Prints the fields of usage in the types of an SDK in a folder, one a line: see README.md beside this file.

    python3 list-usage.py 'SOURCE' FOLDER [snake]

`snake`: its types are in camel case where the API is not.
"""

import re
import sys
from pathlib import Path

USAGE = r"(?!\w*Params\b)\w*(?:Usage|TokensDetails|TokenDetails|TokenCount|CacheDetail)\w*"


def members(text, start):
    """Names of the members of what opens before `start`, those of objects within it too."""
    depth, end = 1, start
    while depth > 0 and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return re.findall(r"^\s+(?:readonly )?['\"]?(\w+)['\"]?\??:", text[start:end], re.MULTILINE)


def main():
    source, folder = sys.argv[1:3]
    is_snake = sys.argv[3:] == ["snake"]
    head = re.compile(r"(?:interface|class|type) (" + USAGE + r")\b[^{;\n]*\{")
    fields = set()
    for path in sorted(Path(folder).rglob("*.d.ts")):
        if re.search(r"\b(?:organization|admin)\b", str(path)):
            continue  # reports of whole organizations, which answer no call
        text = re.sub(r"/\*[\s\S]*?\*/", "", path.read_text(encoding="utf8"))
        for found in head.finditer(text):
            fields.update(members(text, found.end()))
    if is_snake:
        fields = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", field).lower() for field in fields}
    print(f"# {source}")
    print("\n".join(sorted(fields)))


main()
