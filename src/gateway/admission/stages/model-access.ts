import { withoutKeys } from '../../../domain/api-key.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import { WHOLE_BYTES } from '../../../lib/sliced-work.ts'
import { coversModel } from '../../../limits/covers-model.ts'
import { matchesModel } from '../../routing/upstream-table.ts'
import type { Admission } from '../admission.ts'

/** Of a list that a message shows, and of a name that a client wrote. */
const MAX_LIST_LENGTH = 400
const MAX_NAME_LENGTH = 128

/** Why a key with a list of models may not make a call. */
type Doubt =
  | { readonly why: 'off_list'; readonly model: string }
  /** It names no model where one is read. */
  | { readonly why: 'unnamed' }
  /** It may run models that stand where they are not looked for, or more than one. */
  | { readonly why: 'unreadable' }

const UNNAMED: Doubt = { why: 'unnamed' }
const UNREADABLE: Doubt = { why: 'unreadable' }

/** Azure takes the deployment from here with which a response draws, whatever the tool names. */
const DRAWS_WITH = 'x-ms-oai-image-generation-deployment'

/** Refuses a call of a key with a list of models, unless its model is on the list and beyond doubt. */
export function checkModel(admission: Admission): CallRefusal | null {
  const { models } = admission.caller
  const doubt = models === null ? null : doubtOf(models, admission)
  return models === null || doubt === null ? null : refusalOf(doubt, models)
}

/**
 * Such a key may make calls that run no model, and calls whose model is beyond doubt. On an unknown path a
 * model may stand anywhere. A batch names models that are not read here. Of two `model` keys in one body,
 * some servers take the first and others the last.
 */
function doubtOf(models: readonly string[], admission: Admission): Doubt | null {
  const { reading, isFetch, dialect, upstream } = admission.route
  // Also where the call runs none of them itself: those of tools, graders and assistants.
  for (const model of admission.names.models) {
    if (!matchesModel(models, model.replace(/^(?:.*\/)?models\//, ''))) return { why: 'off_list', model }
  }
  const drawing = admission.request.headers[DRAWS_WITH]
  if (drawing !== undefined && !matchesModel(models, String(drawing))) {
    return { why: 'off_list', model: String(drawing) }
  }
  if (admission.names.runsUnnamedModel && drawing === undefined) return UNREADABLE
  const modelInPath = findModelInPath(admission)
  if (modelInPath !== null && !matchesModel(models, modelInPath)) {
    return { why: 'off_list', model: modelInPath }
  }
  const runsModel = reading !== 'free' && !isFetch
  // OpenAI's moderations cost nothing, and libraries send them without a model.
  if (runsModel && !(dialect?.isFree === true && upstream.provider === 'openai')) {
    if (reading !== 'metered' || dialect?.hidesModel === true) return UNREADABLE
    const doubt = doubtOfBody(models, modelInPath, admission)
    if (doubt !== null) return doubt
  }
  return isReadAsForm(admission) ? UNREADABLE : null
}

/** A body may name another model than the path, which then has to be allowed too. */
function doubtOfBody(
  models: readonly string[],
  modelInPath: string | null,
  admission: Admission,
): Doubt | null {
  const model = admission.body.scan?.model ?? modelInPath
  if (model === null) return UNNAMED
  if (!matchesModel(models, model)) return { why: 'off_list', model }
  return admission.mayRunOthers ? UNREADABLE : null
}

function refusalOf(doubt: Doubt, models: readonly string[]): CallRefusal {
  const list = models.join(', ')
  const shown = list.length > MAX_LIST_LENGTH ? `${list.slice(0, MAX_LIST_LENGTH)}...` : list
  return { error: 'model_not_allowed', detail: { message: sentenceOf(doubt, shown) } }
}

/** Why other work of a session may not run `model`; `null`: it may. */
export function refusesBeside(models: readonly string[], model: string): string | null {
  if (models.some((pattern) => coversModel(pattern, model))) return null
  return refusalOf({ why: 'off_list', model }, models).detail?.message ?? null
}

function sentenceOf(doubt: Doubt, list: string): string {
  switch (doubt.why) {
    case 'off_list':
      return `This API key may not use the model '${shownName(doubt.model)}'. It may use: ${list}.`
    case 'unnamed':
      return `This API key is for certain models, and the call names none. Name one of these: ${list}.`
    case 'unreadable':
      return `This call may run models that cannot be seen in it. This API key is for: ${list}. Use one without a list of models.`
    default:
      return doubt satisfies never
  }
}

function shownName(model: string): string {
  const name = withoutKeys(model)
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}...` : name
}

const FORM = /^\s*multipart\/|form/i
const MULTIPART = /^\s*multipart\//i
/** A parameter `model`, after another one, in a form that is written like a query. */
const MODEL = /[&;](?:m|%6d)(?:o|%6f)(?:d|%64)(?:e|%65)(?:l|%6c)/i

/**
 * Whether a server may take `body`, sent as `contentType` where JSON is expected, for a form that names
 * another model than its JSON does. A text that is both is easy to write.
 */
function namesModelAsForm(contentType: string | undefined, body: Buffer): boolean {
  if (contentType === undefined || !FORM.test(contentType)) return false
  if (MULTIPART.test(contentType)) return true
  // No honest client writes large bodies like this, and the search runs in one piece.
  return body.length > WHOLE_BYTES || MODEL.test(body.toString('latin1'))
}

/** Whether a server may take the body, read here as JSON, for a form that names another model. */
function isReadAsForm({ body, request }: Admission): boolean {
  return body.plain !== null && namesModelAsForm(request.headers['content-type'], body.plain)
}

function findModelInPath({ route, webSocket, namedModel }: Admission): string | null {
  // The name that was asked for is the one that a key may use, whatever it is called where it goes.
  if (route.choice !== null && route.modelInPath !== null) return route.choice.asked
  return route.modelInPath ?? (webSocket ? namedModel : null)
}
