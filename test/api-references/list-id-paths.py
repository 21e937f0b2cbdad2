"""Prints where the request bodies of one API name objects, as the types of its SDK have it: see README.md."""
import pathlib, re, sys

api, version, folder = sys.argv[1:]
root = pathlib.Path(folder)
#: Names that may hold an id, where their type admits a text.
ID = re.compile(r'(?:^|_)(?:ids?|files?)$|^(?:conversation|container|video|source|input_reference)$')
DECLARED = re.compile(r'(?m)^\s*(?:export )?(?:declare )?(?:(namespace|interface) (\w+)|(type) (\w+)(?=[^;{]*? = ))')
types = {}   # (file, qualified name) -> text of its members or alias
by_name = {}


def clean(text):
    return re.sub(r'(?m)^\s*//.*$', '', re.sub(r'/\*[\s\S]*?\*/', '', text))


def end_of(text, at):
    depth = 0
    while at < len(text):
        depth += text[at] in '{[(<'
        if text[at] == '>' and text[at - 1] != '=' or text[at] in '}])':
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return at


def read(file, text, scope):
    at = 0
    while (match := DECLARED.search(text, at)):
        kind, name = (part for part in match.groups() if part)
        if kind == 'type':
            depth, end = 0, match.end()
            while text[end] != ';' or depth:
                depth += (text[end] in '{[(') - (text[end] in '}])')
                end += 1
            define(file, scope + [name], text[text.index('=', match.end()) + 1:end])
        else:
            start = text.index('{', match.end())
            end = end_of(text, start)
            inside = text[start + 1:end]
            if kind == 'namespace':
                read(file, inside, scope + [name])
            else:
                parents = re.sub(r'^\s*(?:<[^>]*>)?\s*extends', '', text[match.end():start])
                define(file, scope + [name], '{' + inside + '} & ' + parents)
        at = end


def define(file, names, text):
    types.setdefault((file, '.'.join(names)), text)
    by_name.setdefault(names[-1], []).append((file, '.'.join(names)))


def resolve(file, scope, name):
    for depth in range(len(scope), -1, -1):
        full = '.'.join(scope[:depth] + [name])
        if (file, full) in types:
            return file, full
    found = [key for key in by_name.get(name.split('.')[-1], []) if key[1].endswith(name.split('.', 1)[-1])]
    return found[0] if found else None


def members(text):
    """Members of an object's text: (name, type)."""
    at = 0
    while (match := re.compile(r"\s*(?:readonly )?'?([\w-]+)'?\??:").match(text, at)):
        depth, end = 0, match.end()
        while end < len(text) and (text[end] != ';' or depth):
            depth += (text[end] in '{[(') - (text[end] in '}])')
            end += 1
        yield match[1], text[match.end():end]
        at = end + 1


def walk(file, scope, text, path, seen, out):
    if len(path) > 9:
        return
    rest, at = '', 0
    while at < len(text):
        if text[at] == '{':
            end = end_of(text, at)
            for name, of in members(text[at + 1:end]):
                if ID.search(name) and re.search(r'\bstring\b', of):
                    out.add('.'.join(path + [name]))
                walk(file, scope, of, path + [name], seen, out)
            at = end + 1
        else:
            rest += text[at]
            at += 1
    for name in re.findall(r"(?<!['\w.])[A-Z]\w*(?:\.\w+)*", rest):
        key = resolve(file, scope, name)
        if key is not None and key not in seen:
            walk(key[0], key[1].split('.'), types[key], path, seen | {key}, out)


found = set()
files = [file for file in sorted(root.rglob('*.d.mts')) if not re.search(r'/(?:admin|organization|webhooks|live|realtime)/', str(file))]
for file in files:
    read(file, clean(file.read_text()), [])
for file in files:
    declared = clean(file.read_text())
    code = (file.parent / file.name.replace('.d.mts', '.mjs'))
    if not code.exists():
        continue
    for _, method, body in re.findall(r'\n( {4}| {8})(\w+)\([^)]*\) \{([\s\S]*?)\n\1\}', code.read_text()):
        call = re.search(r"_client\s*\.(post|put|patch)\(\s*(?:path\s*`([^`]*)`|'([^']*)')", body)
        if call is None:
            continue
        path = re.sub(r'\$\{(?:[^{}]|\{[^{}]*\})*\}', '{id}', (call[2] or call[3]).split('?')[0])
        path = path if path.startswith('/v1/') else '/v1' + path
        for params in re.findall(rf'\n    {method}\([^)]*?(?:body|params)\??: ([\w.]+)', declared):
            out = set()
            key = resolve(file, [], params)
            if key is not None:
                walk(key[0], key[1].split('.'), types[key], [], {key}, out)
            found.update(f'POST {path} {member}' for member in out)
print(f'# {version}')
print('\n'.join(sorted(found)))
