import type { Layout, LayoutId } from './layout.js';
import { hybrid09 } from './hybrid-0.9/layout.js';
import { openZeppelin07, openZeppelin08, openZeppelin09 } from './openzeppelin/layout.js';
import { singleton06, singleton07, singleton08 } from './singleton/layout.js';
import { vendor110 } from './vendor-1.1.0/layout.js';
import { vendor2x } from './vendor-2.x/layout.js';
import { verifying07 } from './verifying-0.7/layout.js';
import { verifying09 } from './verifying-0.9/layout.js';

/** Every paymaster contract that can be served; a chain's profile names one by id. */
export const layouts: Readonly<Record<LayoutId, Layout>> = {
  'vendor-1.1.0': vendor110,
  'vendor-2.x': vendor2x,
  'singleton-0.6': singleton06,
  'singleton-0.7': singleton07,
  'singleton-0.8': singleton08,
  'verifying-0.7': verifying07,
  'verifying-0.9': verifying09,
  'hybrid-0.9': hybrid09,
  'openzeppelin-0.7': openZeppelin07,
  'openzeppelin-0.8': openZeppelin08,
  'openzeppelin-0.9': openZeppelin09,
};
