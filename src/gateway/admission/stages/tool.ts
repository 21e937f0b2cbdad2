import type { CallRefusal } from '../../../http/errors.ts'
import { WHOLE_BYTES } from '../../../lib/sliced-work.ts'
import { asFree } from '../../../providers/reading.ts'
import { type RequestScan, scanInSlices, scanRequestBody, type Wanted } from '../../bodies/request-body.ts'
import { modelText } from '../../bodies/scanned-values.ts'
import type { Admission } from '../admission.ts'

const NOT_RPC: CallRefusal = {
  error: 'invalid_request',
  detail: {
    message:
      'Send one message of JSON-RPC, an object in UTF-8, that names its method, params and params.name once: a batch is sent as several requests.',
  },
}

const OF_MESSAGE: Wanted = new Set(['method', 'params'])
const OF_PARAMS: Wanted = new Set(['name'])

/**
 * Reads which tool a request of JSON-RPC calls: it stands for the model, as `upstream/tool`. All others, such as lists of
 * tools, cost nothing. Refuses a body that servers could read in two ways, so that another tool would run.
 */
export function readTool(admission: Admission): CallRefusal | null | Promise<CallRefusal | null> {
  const { body, route } = admission
  const { dialect, reading } = route
  if (dialect?.callsTools === undefined || reading === 'free') return null
  const { plain, scan } = body
  if (plain === null || scan === null) return NOT_RPC
  const top = scanned(admission, plain, OF_MESSAGE)
  return top instanceof Promise
    ? top.then((found) => readMessage(admission, plain, found))
    : readMessage(admission, plain, top)
}

function readMessage(
  admission: Admission,
  plain: Buffer,
  message: RequestScan | null,
): CallRefusal | null | Promise<CallRefusal | null> {
  if (message === null) return null
  if (!isSure(message)) return NOT_RPC
  const { dialect } = admission.route
  const method = message.members.get('method')
  // An answer to a request of the server's own has none.
  const name = method === undefined ? null : modelText(plain, ...method)
  if (method !== undefined && name === null) return NOT_RPC
  if (dialect === null || name !== dialect.callsTools) return callsNone(admission)
  const place = message.members.get('params')
  if (place === undefined) return NOT_RPC
  const params = plain.subarray(...place)
  const inside = scanned(admission, params, OF_PARAMS)
  return inside instanceof Promise
    ? inside.then((found) => readParams(admission, params, found))
    : readParams(admission, params, inside)
}

function readParams(admission: Admission, bytes: Buffer, params: RequestScan | null): CallRefusal | null {
  if (params === null) return null
  const name = params.members.get('name')
  const tool = name === undefined ? null : modelText(bytes, ...name)
  const { body, route } = admission
  if (!isSure(params) || tool === null || tool === '' || body.scan === null) return NOT_RPC
  // What its top level says beside is nothing that a server of tools reads.
  const scan = {
    ...body.scan,
    model: `${route.upstream.name}/${tool}`,
    duplicateModel: false,
    namesOtherModels: false,
  }
  admission.body = { ...body, scan }
  return null
}

function callsNone(admission: Admission): null {
  const { body, route } = admission
  if (route.dialect !== null) admission.route = { ...route, ...asFree(route.dialect) }
  if (body.scan !== null) admission.body = { ...body, scan: { ...body.scan, model: null } }
  return null
}

export function isSure({ readable, isWantedInDoubt }: RequestScan): boolean {
  return readable && !isWantedInDoubt
}

/** In this turn, but of a long one. `null`: its client left meanwhile. */
export function scanned(
  { caller, client }: Admission,
  bytes: Buffer,
  wanted: Wanted,
): RequestScan | null | Promise<RequestScan | null> {
  if (bytes.length <= WHOLE_BYTES) return scanRequestBody(bytes, wanted)
  const isWanted = () => !client.destroyed
  return new Promise((resolve) => scanInSlices(caller.clientId, bytes, isWanted, resolve, wanted))
}
