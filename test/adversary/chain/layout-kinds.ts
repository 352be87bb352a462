import type { LayoutId } from '../../../core/paymaster/layout.js';
import type { ContractSpec } from './operations.js';

/** What the model has to know about the contracts of a layout. Written from the contracts, apart from `core`. */
export const layoutKinds: Readonly<
  Record<LayoutId, Pick<ContractSpec, 'kind' | 'keys' | 'reportsSponsorships'>>
> = {
  'vendor-1.1.0': { kind: 'hybrid', keys: 'one', reportsSponsorships: false },
  'vendor-2.x': { kind: 'hybrid', keys: 'one', reportsSponsorships: false },
  'hybrid-0.9': { kind: 'hybrid', keys: 'one', reportsSponsorships: false },
  'singleton-0.6': { kind: 'plain', keys: 'several', reportsSponsorships: true },
  'singleton-0.7': { kind: 'plain', keys: 'several', reportsSponsorships: true },
  'singleton-0.8': { kind: 'plain', keys: 'several', reportsSponsorships: true },
  'verifying-0.7': { kind: 'plain', keys: 'fixed', reportsSponsorships: false },
  'verifying-0.9': { kind: 'plain', keys: 'one', reportsSponsorships: false },
  'openzeppelin-0.7': { kind: 'plain', keys: 'fixed', reportsSponsorships: false },
  'openzeppelin-0.8': { kind: 'plain', keys: 'fixed', reportsSponsorships: false },
  'openzeppelin-0.9': { kind: 'plain', keys: 'fixed', reportsSponsorships: false },
};
