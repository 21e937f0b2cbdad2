import { ledger } from './areas/ledger.ts'
import { limits } from './areas/limits.ts'
import { objects } from './areas/objects.ts'
import { pricing } from './areas/pricing.ts'
import { proxy } from './areas/proxy.ts'
import { reading } from './areas/reading.ts'
import type { Area } from './mutant.ts'

export const AREAS: readonly Area[] = [reading, pricing, ledger, limits, objects, proxy]
