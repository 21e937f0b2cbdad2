import type { CallRefusal } from '../../../http/errors.ts'
import type { AnswerForm } from '../../../providers/dialect.ts'
import { entryOf } from '../../../providers/registry.ts'
import type { Projection } from '../../../providers/wires/json.ts'
import { HELD, howToRead } from '../../bodies/body-reading.ts'
import { asksForUsage, oddStreamMember } from '../../bodies/include-usage.ts'
import { signsRequests } from '../../credentials/fetched-credential.ts'
import { readRequestFields } from '../../proxy/prepare-body.ts'
import type { Route } from '../../routing/route.ts'
import type { Upstream } from '../../routing/upstream-table.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const UNSUPPORTED: CallRefusal = { error: 'unsupported_encoding' }
const MODEL_BEHIND_FILE: CallRefusal = {
  error: 'invalid_request',
  detail: { param: 'model', message: 'Send model before file: the call depends on it.' },
}

/** LiteLLM answers with an array for them, or with the fastest, and no answer reports what the others cost. */
const SEVERAL_MODELS: CallRefusal = {
  error: 'invalid_request',
  detail: { param: 'model', message: 'Name one model a call: usage is counted by model.' },
}

/**
 * Decides how much of the body is read before the call goes on. Refuses a body that has to be read and cannot
 * be.
 */
export function planBody(
  admission: Admission,
  { objects, upstreams }: Pick<AdmissionOptions, 'objects' | 'upstreams'>,
): CallRefusal | null {
  if (!admission.hasBody) return null
  const { route, caller, candidates } = admission
  const { headers } = admission.request
  // Whichever of its targets it goes to in the end.
  const places = candidates.length === 0 ? [route] : candidates
  const wantsModel = route.needsModel || caller.models !== null
  // A form that names the model of one of the `routes` only behind its file goes where it would go without them.
  admission.modelDecides = caller.models !== null || (route.needsModel && upstreams.needsModel)
  const type = headers['content-type'] ?? ''
  let namesObjects = false
  let { dialect } = route
  for (const place of places) {
    namesObjects ||= objects.readsBody(place.upstream, place.target.canonicalPath, type)
    if (dialect?.readsRequest !== true && place.dialect?.readsRequest === true) dialect = place.dialect
  }
  const reading = howToRead(headers, dialect, wantsModel, namesObjects)
  if (reading.kind === 'unsupported') return UNSUPPORTED
  if (reading.kind === 'whole' || !mustBeHeld(admission, places, upstreams.all))
    admission.bodyReading = reading
  else if (reading.kind === 'form') return UNSUPPORTED
  else admission.bodyReading = HELD
  return null
}

/** A body whose hash is signed, by the client or for the upstream, is known before a byte of it goes on. */
function mustBeHeld(
  { signature, route }: Admission,
  places: readonly Route[],
  upstreams: readonly Upstream[],
): boolean {
  if (signature !== null) return true
  return route.needsModel
    ? upstreams.some(signsRequests)
    : places.some(({ upstream }) => signsRequests(upstream))
}

/**
 * Refuses a form whose model may stand behind its file, where the call depends on it: files are not held
 * here.
 */
export function requireModelFirst({ body, modelDecides, route }: Admission): CallRefusal | null {
  if (body.form === null || !modelDecides || route.modelInPath !== null) return null
  return body.form.modelMayFollow ? MODEL_BEHIND_FILE : null
}

/** Some proxies decode what they pass on, so that a server decodes it again. */
const MAX_DECODINGS = 4
const ENCODED = /(?:%[0-9a-f]{2})+/gi
/** A server that is sent protocol buffers answers in them. */
const UNREADABLE_TYPE = /proto/i

/** Refuses a call whose answer would come in a form in which its usage is not found. */
export function checkAnswerForm(admission: Admission): CallRefusal | null | Promise<CallRefusal | null> {
  const { route, candidates } = admission
  for (const other of candidates) {
    const found = other === route ? null : refuseFormAt(other, admission)
    if (found !== null) return found
  }
  const found = refuseFormAt(route, admission)
  if (found !== null) return found
  for (const other of candidates)
    if (formOf(other)?.members !== undefined) return refuseMember(other, admission)
  return formOf(route)?.members === undefined ? null : refuseMember(route, admission)
}

function formOf({ dialect, upstream }: Route): AnswerForm | undefined {
  return dialect?.answerForm ?? entryOf(upstream.provider).answerForm
}

/** A member that a body may not have, read as the server reads it; a body that servers read differently may have it. */
function refuseMember(
  route: Route,
  { body, caller, client }: Admission,
): CallRefusal | null | Promise<CallRefusal | null> {
  const members = formOf(route)?.members
  const { plain } = body
  if (members === undefined || plain === null) return null
  return new Promise((resolve) => {
    readRequestFields(
      caller.clientId,
      plain,
      members,
      () => !client.destroyed,
      (fields) => {
        const [member] = fields === null || fields === 'gone' ? [] : Object.keys(fields)
        if (fields !== null) resolve(member === undefined ? null : refusal(member))
        else resolve(refusal(nameOf(members)))
      },
    )
  })
}

function nameOf(members: Projection): string {
  return members.kind === 'members' ? members.members.map(({ key }) => key).join(', ') : ''
}

function refuseFormAt(route: Route, admission: Admission): CallRefusal | null {
  const { body, request } = admission
  if (entryOf(route.upstream.provider).isAnyServer === true && admission.namesSeveral) return SEVERAL_MODELS
  const form = formOf(route)
  if (form !== undefined) {
    const parameter = findParameter(form, route.target.pathAndQuery)
    if (parameter !== null) return refusal(parameter)
    if (UNREADABLE_TYPE.test(request.headers['content-type'] ?? '')) return refusal('content-type')
  }
  if (body.scan === null || body.form !== null || !asksForUsage(route)) return null
  const member = oddStreamMember(body.scan)
  return member === null ? null : refusal(member)
}

/** The first parameter of the query that changes the form. Servers differ in whether `;` separates parameters. */
function findParameter({ parameters }: AnswerForm, pathAndQuery: string): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return null
  for (const pair of decoded(pathAndQuery.slice(queryStart + 1)).split(/[&;]/)) {
    const [written = '', value = ''] = pair.split('=')
    const name = written.trim().toLowerCase()
    const allowed = parameters.get(name)
    if (allowed === undefined || allowed?.test(value.trim()) === true) continue
    return name
  }
  return null
}

function decoded(query: string): string {
  let text = query.replaceAll('+', ' ')
  for (let times = 0; times < MAX_DECODINGS && text.includes('%'); times += 1) {
    text = text.replace(ENCODED, (encoded) =>
      Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
    )
  }
  return text
}

function refusal(param: string): CallRefusal {
  const message = `Leave out "${param}", or write it as client libraries do: usage is read from the answer, which would have another form.`
  return { error: 'invalid_request', detail: { param, message } }
}
