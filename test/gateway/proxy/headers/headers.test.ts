import { describe, expect, test } from 'vitest'
import {
  type AnswerHeadOptions,
  forwardableResponseHeaders,
} from '../../../../src/gateway/proxy/headers/answer-headers.ts'
import {
  credentialHeader,
  forwardableRequestHeaders,
  type RequestHeaderOptions,
} from '../../../../src/gateway/proxy/headers/headers.ts'
import { PROVIDERS } from '../../../../src/providers/registry.ts'

const plain: RequestHeaderOptions = {
  host: 'api.example',
  credential: null,
  askIdentity: false,
  contentLength: null,
}

function forwarded(raw: readonly string[], options: Partial<RequestHeaderOptions> = {}): string[] {
  return forwardableRequestHeaders(raw, { ...plain, ...options })
}

describe('to the upstream', () => {
  test('names, values, order and repetitions of headers stay as they were upstream, bytes above ASCII too', () => {
    const raw = ['X-Ünï', 'caf\xe9 ', 'Accept', 'text/event-stream', 'X-A', '1', 'x-a', '2', 'X-Empty', '']
    expect(forwarded(raw)).toEqual(['host', 'api.example', ...raw])
  })

  test('no header asks for a part of an answer whose usage is read', () => {
    const raw = ['Range', 'bytes=0-99', 'If-Range', '"a"', 'X-Goog-FieldMask', 'candidates']
    expect(forwarded(raw)).toEqual(['host', 'api.example', ...raw])
    expect(forwarded(raw, { askIdentity: true })).toEqual([
      ...['host', 'api.example', 'accept-encoding', 'identity'],
    ])
  })

  test.each([
    'Idempotency-Key',
    'x-idempotency-key',
    'cf-aig-cache-key',
    'Repeatability-Request-ID',
  ])('a client’s %s is its own: the same at each gateway, and never that of another client', (name) => {
    const sentBy = (idempotencyOf: string | null, key: string) =>
      forwarded([name, key], { idempotencyOf }).at(-1)
    expect(sentBy(null, 'order-1')).toBe('order-1')
    const own = sentBy('acme', 'order-1')
    expect(own).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(sentBy('acme', 'order-1')).toBe(own)
    expect(sentBy('acme', 'order-2')).not.toBe(own)
    expect(sentBy('other', 'order-1')).not.toBe(own)
    expect(sentBy('acme', '')).toBe('')
    expect(sentBy('acme', '"order-1"')).toMatch(/^"[-0-9a-f]{36}"$/)
  })

  test('no header names another path than the one that was judged', () => {
    expect(forwarded(['X-Original-URL', '/v1/files', 'X-Rewrite-Url', '/v1/files'])).toEqual([
      'host',
      'api.example',
    ])
  })

  test('hop-by-hop headers end here, in any case of letters', () => {
    const raw = [
      ...['Connection', 'keep-alive', 'Keep-Alive', 'timeout=5', 'Proxy-Authorization', 'Basic x'],
      ...[
        'proxy-connection',
        'keep-alive',
        'TRANSFER-ENCODING',
        'chunked',
        'Upgrade',
        'h2c',
        'HTTP2-Settings',
        'x',
      ],
      ...['Trailer', 'x-sum', 'TE', 'gzip;q=0.5', 'Expect', '100-continue'],
    ]
    expect(forwarded(raw)).toEqual(['host', 'api.example'])
  })

  test('TE keeps trailers and nothing else', () => {
    expect(forwarded(['TE', 'gzip, Trailers'])).toEqual(['host', 'api.example', 'TE', 'trailers'])
  })

  test('the headers that Connection names are removed, also on several lines', () => {
    const raw = [
      'X-Hop',
      'a',
      'connection',
      'close, X-Hop',
      'Connection',
      'x-other ,',
      'X-Other',
      'b',
      'X-Stays',
      'c',
    ]
    expect(forwarded(raw)).toEqual(['host', 'api.example', 'X-Stays', 'c'])
  })

  test('a header that says how to read the body stays though Connection names it: the upstream must not read other bytes than we', () => {
    const raw = [
      'Connection',
      'content-type, Content-Encoding',
      'Content-Type',
      'a/b',
      'Content-Encoding',
      'gzip',
    ]
    expect(forwarded(raw)).toEqual([
      ...['host', 'api.example', 'Content-Type', 'a/b', 'Content-Encoding', 'gzip'],
    ])
  })

  test('a body that goes on plain does not say that it is coded', () => {
    const raw = ['Content-Encoding', 'gzip', 'Content-Length', '3']
    const headers = forwarded(raw, { contentLength: 9, isPlain: true })
    expect(headers).toEqual(['host', 'api.example', 'content-length', '9'])
  })

  test('Connection can remove neither our credential, nor host, nor the length', () => {
    const raw = ['Connection', 'authorization, host, content-length', 'Content-Length', '3', 'Host', 'us']
    expect(forwarded(raw, { credential: ['authorization', 'Bearer up'] })).toEqual([
      ...['host', 'api.example', 'Content-Length', '3', 'authorization', 'Bearer up'],
    ])
  })

  test("the client's credentials and cookies never go upstream, ours comes last", () => {
    const raw = [
      ...['Authorization', 'Bearer tg_x', 'X-Api-Key', 'tg_x', 'api-key', 'tg_x', 'X-Goog-Api-Key', 'tg_x'],
      ...['Cookie', 'a=b', 'anthropic-version', '2023-06-01'],
    ]
    expect(forwarded(raw, { credential: ['x-api-key', 'up'] })).toEqual([
      ...['host', 'api.example', 'anthropic-version', '2023-06-01', 'x-api-key', 'up'],
    ])
    expect(forwarded(raw).join('\n')).not.toContain('tg_x')
  })

  test('a key among the WebSocket subprotocols is taken out, the other ones stay', () => {
    const key = 'openai-insecure-api-key.tg_x'
    const protocols = (value: string) => forwarded(['Sec-WebSocket-Protocol', value]).slice(2)
    expect(protocols(`realtime, ${key}, openai-beta.realtime-v1`)).toEqual([
      ...['Sec-WebSocket-Protocol', 'realtime, openai-beta.realtime-v1'],
    ])
    expect(protocols(key)).toEqual([])
    expect(protocols('realtime,x')).toEqual(['Sec-WebSocket-Protocol', 'realtime,x'])
  })

  test('accept-encoding is replaced where identity is asked for, else untouched', () => {
    const raw = ['Accept-Encoding', 'gzip, br', 'accept-encoding', 'zstd']
    expect(forwarded(raw)).toEqual(['host', 'api.example', ...raw])
    expect(forwarded(raw, { askIdentity: true })).toEqual([
      'host',
      'api.example',
      'accept-encoding',
      'identity',
    ])
  })

  test("a whole body's length replaces what was announced, or is added to a chunked one", () => {
    expect(forwarded(['Content-Length', '3'], { contentLength: 40 })).toEqual([
      ...['host', 'api.example', 'content-length', '40'],
    ])
    expect(forwarded(['Transfer-Encoding', 'chunked'], { contentLength: 0 })).toEqual([
      ...['host', 'api.example', 'content-length', '0'],
    ])
  })
})

function answered(raw: readonly string[], options: Partial<AnswerHeadOptions> = {}): string[] {
  return forwardableResponseHeaders(raw, {
    dropContentLength: false,
    rates: null,
    ownsOrigins: false,
    ...options,
  })
}

describe('to the client', () => {
  test('all but hop-by-hop headers come back to the client as sent, repeated ones and odd bytes too', () => {
    const kept = ['X-Twice', 'a=1', 'x-twice', 'b=2', 'X-Request-ID', 'r\xe9', 'content-length', '5']
    const hops = [
      'Connection',
      'X-Hop',
      'X-Hop',
      '1',
      'Transfer-Encoding',
      'chunked',
      'Keep-Alive',
      'timeout=4',
    ]
    expect(answered([...hops, ...kept])).toEqual(kept)
  })

  test('what speaks for the origin of the upstream ends here: the client would take it for the gateway’s', () => {
    const policies = ['Strict-Transport-Security', 'Alt-Svc', 'Set-Cookie', 'Clear-Site-Data', 'NEL']
    expect(answered([...policies.flatMap((name) => [name, 'x']), 'ETag', 'x'])).toEqual(['ETag', 'x'])
  })

  test('which pages may read an answer says the upstream, or the gateway alone', () => {
    const sent = ['Access-Control-Allow-Origin', '*', 'Vary', 'Accept', 'access-control-max-age', '9']
    expect(answered(sent)).toEqual(sent)
    expect(answered(sent, { ownsOrigins: true })).toEqual(['Vary', 'Accept', 'vary', 'Origin'])
    expect(forwarded(['Origin', 'https://a.example'], { ownsOrigins: true })).not.toContain('Origin')
    expect(forwarded(['Origin', 'https://a.example'])).toContain('Origin')
  })

  test('the length is removed where the body may get shorter', () => {
    expect(answered(['Content-Length', '5', 'ETag', 'x'], { dropContentLength: true })).toEqual(['ETag', 'x'])
  })

  test('what is left of the rates of a client stands in place of what the upstream says of ours', () => {
    const sent = ['X-RateLimit-Limit-Requests', '10000', 'x-ratelimit-limit-tokens', '9', 'ETag', 'x']
    expect(answered(sent)).toEqual(sent)
    const rates = { 'x-ratelimit-limit-requests': '5', 'x-ratelimit-remaining-requests': '4' }
    expect(answered(sent, { rates })).toEqual([
      ...['x-ratelimit-limit-tokens', '9', 'ETag', 'x'],
      ...['x-ratelimit-limit-requests', '5', 'x-ratelimit-remaining-requests', '4'],
    ])
    const origin = ['Access-Control-Allow-Origin', '*']
    expect(answered(origin, { rates }).slice(-2)).toEqual([
      'access-control-expose-headers',
      'x-ratelimit-limit-requests, x-ratelimit-remaining-requests',
    ])
  })
})

describe('our credential', () => {
  test('our credential goes into the header that the provider reads', () => {
    const names = new Map<string, string[]>()
    for (const provider of PROVIDERS) {
      const [name, value] = credentialHeader(provider, 'k')
      expect(value).toBe(name === 'authorization' ? 'Bearer k' : 'k')
      names.set(name, [...(names.get(name) ?? []), provider])
    }
    expect(names.get('x-api-key')).toEqual(['anthropic'])
    expect(names.get('api-key')).toEqual(['azure-openai', 'azure-ai'])
    expect(names.get('x-goog-api-key')).toEqual(['gemini'])
    expect(names.get('authorization')).toContain('openai')
  })
})
