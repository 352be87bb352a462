import { entryPoint07 } from '../../entry-point/v07.js';
import type { Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';

/** Mode SPONSORED only. */
export const verifying07: Layout = {
  id: 'verifying-0.7',
  entryPointVersion: entryPoint07.version,
  title: 'VerifyingPaymaster for EntryPoint 0.7',
  sponsorship,
  readsTail: () => false,
  token: undefined,
};
