import type { LayoutId } from '../../../core/paymaster/layout.js';
import type { ContractSpec } from './operations.js';

/** What the model has to know about the contracts of a layout. Written from the contracts, apart from `core`. */
export const layoutKinds: Readonly<Record<LayoutId, Pick<ContractSpec, 'kind' | 'keys'>>> = {
  'vendor-1.1.0': { kind: 'hybrid', keys: 'one' },
  'vendor-2.x': { kind: 'hybrid', keys: 'one' },
  'hybrid-0.9': { kind: 'hybrid', keys: 'one' },
  'singleton-0.6': { kind: 'plain', keys: 'several' },
  'singleton-0.7': { kind: 'plain', keys: 'several' },
  'singleton-0.8': { kind: 'plain', keys: 'several' },
  'verifying-0.7': { kind: 'plain', keys: 'fixed' },
  'verifying-0.9': { kind: 'plain', keys: 'one' },
  'openzeppelin-0.7': { kind: 'plain', keys: 'fixed' },
  'openzeppelin-0.8': { kind: 'plain', keys: 'fixed' },
  'openzeppelin-0.9': { kind: 'plain', keys: 'fixed' },
};
