/* Looking for the entry that an earlier process has made. */

#ifndef CAPTURE_LOOK_UPS_H
#define CAPTURE_LOOK_UPS_H

#include "frame/code_entries.h"

/* Where a frame of this code is to be looked up once more, now, its kind says so again. */
void look_up_again(CodeState *state);

/* A look has found nothing and has cost `ns`: the frame waits as others do. */
void look_up_missed(CodeState *state, long long ns);

/* Whether the next frame of the code will be looked up, too, whatever the present one takes. */
int look_comes_next(const CodeState *state);

#endif
