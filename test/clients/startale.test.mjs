import * as sdk from '@startale-scs/aa-sdk';
import { startaleTests } from './startale.mjs';

startaleTests(sdk);
