import type { Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';

/** Mode SPONSORED only. */
export const verifying07: Layout = {
  id: 'verifying-0.7',
  entryPointVersion: '0.7',
  title: 'VerifyingPaymaster for EntryPoint 0.7',
  sponsorship,
  token: undefined,
};
