import type { UpstreamCredentials } from '../../config/yaml/credentials-config.ts'
import { GatewayError } from '../../http/errors.ts'
import { CredentialKeeper, type Fetched, type KeptState } from '../../lib/credential-keeper.ts'
import type { Logger } from '../../lib/logger.ts'
import { type RequestToSign, type SigningKey, signatureHeaders } from '../sigv4/sign-request.ts'
import { fetchAwsCredentials } from './aws-credentials.ts'
import { fetchAzureToken } from './azure-tokens.ts'
import { fetchGoogleToken } from './google-tokens.ts'

/** A header's name in lower case, and its value. */
type CredentialPair = readonly [name: string, value: string]

/** An upstream's credential that ends, and is fetched again. */
export interface FetchedCredential {
  readonly kind: UpstreamCredentials['kind']
  /** The settings that it was opened with, as text: one with the same goes on over a reload. */
  readonly settings: string
  /** The header that proves all requests; `null`: each is signed, or none is valid now. */
  readonly header: CredentialPair | null
  /**
   * The headers that prove one request; `null`: `header` proves all of them.
   * @throws {GatewayError} Where no credential is valid now.
   */
  readonly sign: ((request: RequestToSign) => string[]) | null
  /** Whether one is valid. Waits only where none is and one is being fetched. */
  usable(): boolean | Promise<boolean>
  renew(): void
  state(): KeptState
  stop(): void
}

/** Opens the credential of an upstream, and begins to fetch it. */
export function openCredential(
  credentials: UpstreamCredentials,
  upstream: string,
  log: Logger,
): FetchedCredential {
  const onChange = logChange(credentials.kind, upstream, log)
  const settings = JSON.stringify(credentials)
  switch (credentials.kind) {
    case 'aws': {
      const { region, service } = credentials
      const keeper = new CredentialKeeper({ fetch: () => fetchAwsCredentials(credentials), onChange })
      return opened(credentials.kind, settings, keeper, () => null, signerOf(keeper, { region, service }))
    }
    case 'google':
      return ofToken(credentials.kind, settings, () => fetchGoogleToken(credentials), onChange)
    case 'azure':
      return ofToken(credentials.kind, settings, () => fetchAzureToken(credentials), onChange)
    default:
      return credentials satisfies never
  }
}

type OnChange = (problem: string | null) => void

function ofToken(
  kind: FetchedCredential['kind'],
  settings: string,
  fetchToken: () => Promise<Fetched<string>>,
  onChange: OnChange,
): FetchedCredential {
  const keeper = new CredentialKeeper<CredentialPair>({
    async fetch() {
      const { value, endsAtMs } = await fetchToken()
      return { value: ['authorization', `Bearer ${value}`], endsAtMs }
    },
    onChange,
  })
  return opened(kind, settings, keeper, () => keeper.current(), null)
}

function opened(
  kind: FetchedCredential['kind'],
  settings: string,
  keeper: CredentialKeeper<unknown>,
  header: () => CredentialPair | null,
  sign: FetchedCredential['sign'],
): FetchedCredential {
  return {
    kind,
    settings,
    get header() {
      return header()
    },
    sign,
    usable: () => keeper.usable(),
    renew: () => keeper.renew(),
    state: () => keeper.state(),
    stop: () => keeper.stop(),
  }
}

function signerOf(
  keeper: CredentialKeeper<SigningKey>,
  place: { readonly region: string; readonly service: string },
): (request: RequestToSign) => string[] {
  return (request) => {
    const key = keeper.current()
    if (key === null) throw new GatewayError('upstream_credential_missing')
    return signatureHeaders(request, key, place, Date.now())
  }
}

function logChange(kind: string, upstream: string, log: Logger): OnChange {
  return (problem) => {
    if (problem === null) {
      log.info({ event: 'upstream.credential_renewed', upstream, kind }, 'the credential is renewed again')
    } else {
      log.warn(
        { event: 'upstream.credential_not_renewed', upstream, kind, reason: problem },
        'the credential of an upstream cannot be renewed; it is tried again, with a line once it is there',
      )
    }
  }
}

/** Of an upstream, what its requests are proven by. */
export interface ProvenUpstream {
  readonly host: string
  readonly credential: CredentialPair | null
  readonly fetched: FetchedCredential | null
}

const NONE: readonly string[] = []

/** The header that proves all requests to an upstream; `null`: none is sent, none is valid now, or each is signed. */
export function credentialOf({ credential, fetched }: ProvenUpstream): CredentialPair | null {
  return fetched === null ? credential : fetched.header
}

/**
 * The headers, beside that of `credentialOf`, by which a finished request is proven: name, value, name, value, ...
 *
 * @param headers The others that are sent.
 * @throws {GatewayError} Where no credential is valid now.
 */
export function signatureFor(
  { fetched, host }: ProvenUpstream,
  method: string,
  target: string,
  body: Buffer | null,
  headers: readonly string[] = NONE,
): readonly string[] {
  if (fetched === null) return NONE
  if (fetched.sign !== null) return fetched.sign({ method, target, host, body, headers })
  if (fetched.header === null) throw new GatewayError('upstream_credential_missing')
  return NONE
}

/** Tells whether each request to the upstream is signed. */
export function signsRequests({ fetched }: Pick<ProvenUpstream, 'fetched'>): boolean {
  return fetched !== null && fetched.sign !== null
}

/** All headers by which a request without a body is proven, once there are any. @throws {GatewayError} As above. */
export async function proofOf(
  upstream: ProvenUpstream,
  method: string,
  target: string,
): Promise<readonly string[]> {
  await upstream.fetched?.usable()
  return [...(credentialOf(upstream) ?? NONE), ...signatureFor(upstream, method, target, null)]
}
