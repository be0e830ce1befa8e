/* Reads an image of 8 x 8 numbers from the standard input, and prints the most likely class. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

int main(void) {
    float image[64], scores[10];
    for (int i = 0; i < 64; i++)
        if (scanf("%f", &image[i]) != 1) {
            fprintf(stderr, "expected 64 numbers\n");
            return 1;
        }
    int64_t bytes = (digits_workspace_bytes() + 63) / 64 * 64;
    void *workspace = aligned_alloc(64, bytes > 0 ? (size_t)bytes : 64);
    if (workspace == NULL || digits(image, scores, workspace) != 0)
        return 1;
    int best = 0;
    for (int i = 1; i < 10; i++)
        if (scores[i] > scores[best])
            best = i;
    printf("class %d, probability %.4f, workspace %lld bytes\n", best, scores[best], (long long)bytes);
    free(workspace);
    return 0;
}
