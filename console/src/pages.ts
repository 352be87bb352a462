import type { ComponentType } from 'preact';
import { Activity } from './pages/activity.js';
import { Changes } from './pages/changes.js';
import { Money } from './pages/money.js';
import { Overview } from './pages/overview.js';
import { Paymaster } from './pages/paymaster.js';
import { Playground } from './pages/playground.js';
import { ProblemsPage } from './pages/problems.js';
import { Tokens } from './pages/tokens.js';
import { Usage } from './pages/usage.js';
import { WhatIf } from './pages/what-if.js';
import type { Scope } from './records.js';

type Page = {
  readonly title: string;
  readonly page: ComponentType;
  /** A token with one of these scopes, or `write`, has something to see there. */
  readonly needs: readonly Scope[];
};

/** The first segment of the address, in the order of the navigation. */
export const pages: Readonly<Record<string, Page>> = {
  overview: { title: 'Overview', page: Overview, needs: ['read', 'finance'] },
  problems: { title: 'Problems', page: ProblemsPage, needs: ['read', 'stop'] },
  paymaster: { title: 'Paymasters', page: Paymaster, needs: ['read', 'stop'] },
  activity: { title: 'Activity', page: Activity, needs: ['read'] },
  money: { title: 'Money', page: Money, needs: ['read', 'finance'] },
  usage: { title: 'Usage', page: Usage, needs: ['read', 'finance'] },
  'what-if': { title: 'What-if', page: WhatIf, needs: ['read'] },
  playground: { title: 'Playground', page: Playground, needs: ['read'] },
  changes: { title: 'Changes', page: Changes, needs: ['read'] },
  tokens: { title: 'Tokens', page: Tokens, needs: ['read'] },
};
