import type { ComponentType } from 'preact';
import { Activity } from './pages/activity.js';
import { Changes } from './pages/changes.js';
import { Overview } from './pages/overview.js';
import { Paymaster } from './pages/paymaster.js';
import { Playground } from './pages/playground.js';
import { WhatIsWrong } from './pages/problems.js';
import { Tokens } from './pages/tokens.js';
import { Usage } from './pages/usage.js';
import { WhatIf } from './pages/what-if.js';

type Page = { readonly title: string; readonly page: ComponentType };

/** The first segment of the address, in the order of the navigation. */
export const pages: Readonly<Record<string, Page>> = {
  overview: { title: 'Overview', page: Overview },
  problems: { title: 'What is wrong', page: WhatIsWrong },
  paymaster: { title: 'Paymasters', page: Paymaster },
  activity: { title: 'Activity', page: Activity },
  usage: { title: 'Usage', page: Usage },
  'what-if': { title: 'What-if', page: WhatIf },
  playground: { title: 'Playground', page: Playground },
  changes: { title: 'Changes', page: Changes },
  tokens: { title: 'Tokens', page: Tokens },
};
