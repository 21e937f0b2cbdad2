"""Prints the operations of one API as the SDK in a folder names them: see README.md beside this file."""
import pathlib, re, sys

api, version, *folders = sys.argv[1:]
found = set()


def tidy(path):
    path = re.sub(r'\$\{(?:[^{}]|\{[^{}]*\})*\}', '{id}', path.split('?')[0])
    # A resource name in one parameter, as Google writes it: {name=tunedModels/*/permissions/*}.
    path = re.sub(r'\{[^{}=]*=([^{}]*)\}', lambda m: m[1].replace('**', '*').replace('*', '{id}'), path)
    path = re.sub(r'\{[^{}]*\}', '{id}', path)
    return path if path.startswith('/') else '/' + path


def read(folder, ends):
    for file in sorted(pathlib.Path(folder).rglob('*')):
        if file.name.endswith(ends):
            yield file.read_text()


for folder in folders:
    if api == 'gemini':
        for text in read(folder, 'rest_base.py'):
            for method, path in re.findall(r'"method": "(\w+)",\s*"uri": "([^"]+)"', text):
                found.add(f'{method.upper()} {tidy(path)}')
        for text in read(folder, '.py'):
            for method, path in re.findall(r'method="([A-Z]+)",\s*path="(/[^"]+)"', text):
                found.add(f'{method} {tidy(path.replace("{api_version}", "v1beta"))}')
    else:
        call = r'_client\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:path\s*`([^`]*)`|\'([^\']*)\')(?:(?!_client)[^;]){0,300}'
        for text in read(folder, '.mjs'):
            for match in re.finditer(call, text):
                method, template, plain = match.groups()
                posts = "method: 'post'" in match[0]
                verb = method.upper() if method != 'getAPIList' else 'POST' if posts else 'GET'
                path = tidy(template or plain)
                found.add(f'{verb} {path if path.startswith("/v1/") or api != "openai" else "/v1" + path}')

sockets = {
    'openai': ['/v1/realtime', '/v1/responses'],
    'anthropic': [],
    'gemini': [f'/ws/google.ai.generativelanguage.v1{v}.GenerativeService.BidiGenerateContent{c}'
               for v in ('beta', 'alpha') for c in ('', 'Constrained')],
}[api]
found.update(f'GET {path}' for path in sockets)
if api == 'openai':
    # The SDK puts this path together before it calls it.
    found.add('POST /v1/embeddings')
if api == 'gemini':
    # Called by hand in the SDK, not in its generated annotations.
    found.update(f'POST {path}' for path in (
        '/upload/v1beta/files', '/upload/v1beta/fileSearchStores/{id}:uploadToFileSearchStore',
        '/v1beta/files:register', '/v1alpha/auth_tokens'))
print(f'# {version}')
print('\n'.join(sorted(found, key=lambda line: (line.split(' ')[1], line))))
