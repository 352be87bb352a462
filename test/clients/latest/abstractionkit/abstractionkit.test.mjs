import * as kit from 'abstractionkit';
import { abstractionKitTests } from '../../abstractionkit.mjs';

abstractionKitTests(kit);
