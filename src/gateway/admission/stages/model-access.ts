import type { CallRefusal } from '../../../http/errors.ts'
import { namesModelAsForm } from '../../forms/form-doubt.ts'
import { modelInQuery } from '../../routing/route.ts'
import { matchesModel } from '../../routing/upstream-table.ts'
import type { Admission } from '../admission.ts'

const MODEL_NOT_ALLOWED: CallRefusal = { error: 'model_not_allowed' }

/**
 * Sessions whose query names the model; others name models in their messages, which are not checked against
 * the key.
 */
const REALTIME = /\/realtime$/i

/** Refuses a call of a key with a list of models, unless its model is on the list and beyond doubt. */
export function checkModel(admission: Admission): CallRefusal | null {
  const { models } = admission.caller
  return models === null || mayUseModel(models, admission) ? null : MODEL_NOT_ALLOWED
}

/**
 * Such a key may make calls that run no model, and calls whose model is beyond doubt. On an unknown path a
 * model may stand anywhere. A batch names models that are not read here. Of two `model` keys in one body,
 * some servers take the first and others the last.
 */
function mayUseModel(models: readonly string[], admission: Admission): boolean {
  const { reading, isFetch, dialect } = admission.route
  // Also where the call runs none of them itself: those of tools, graders and assistants.
  if (!admission.names.models.every((model) => matchesModel(models, model.replace(/^(?:.*\/)?models\//, ''))))
    return false
  const modelInPath = findModelInPath(admission)
  if (modelInPath !== null && !matchesModel(models, modelInPath)) return false
  if (reading !== 'free' && !isFetch) {
    if (reading !== 'metered' || dialect?.hidesModel === true) return false
    if (!isBodyAllowed(models, modelInPath, admission)) return false
  }
  return !isReadAsForm(admission)
}

/** A body may name another model than the path, which then has to be allowed too. */
function isBodyAllowed(
  models: readonly string[],
  modelInPath: string | null,
  { body: { scan } }: Admission,
): boolean {
  const model = scan?.model ?? modelInPath
  if (model === null || !matchesModel(models, model)) return false
  return scan === null
    ? modelInPath !== null
    : scan.readable && !scan.duplicateModel && !scan.namesOtherModels
}

/** Whether a server may take the body, read here as JSON, for a form that names another model. */
function isReadAsForm({ body, request }: Admission): boolean {
  return body.plain !== null && namesModelAsForm(request.headers['content-type'], body.plain)
}

function findModelInPath({ route, webSocket, target }: Admission): string | null {
  if (route.modelInPath !== null || !webSocket || !REALTIME.test(target.canonicalPath)) {
    return route.modelInPath
  }
  return modelInQuery(target.pathAndQuery)
}
