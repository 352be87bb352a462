import type { Layout, LayoutId } from './layout.js';
import { singleton06, singleton07, singleton08 } from './singleton/layout.js';
import { vendor110 } from './vendor-1.1.0/layout.js';
import { vendor2x } from './vendor-2.x/layout.js';
import { verifying07 } from './verifying-0.7/layout.js';

/** Every paymaster contract that can be served; a chain's profile names one by id. */
export const layouts: Readonly<Record<LayoutId, Layout>> = {
  'vendor-1.1.0': vendor110,
  'vendor-2.x': vendor2x,
  'singleton-0.6': singleton06,
  'singleton-0.7': singleton07,
  'singleton-0.8': singleton08,
  'verifying-0.7': verifying07,
};
