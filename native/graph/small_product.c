/* Products of small float32 matrices, by the tiles of convolutions: in a batch of them, BLAS needs longer to
 * begin with each one than to compute it.
 *
 * In:  sizes, strides and bare pointers.
 * Out: the product. Each element is one chain in the order of the inner elements.
 *
 *     q[192, 11, 16] @ k[192, 11, 16].mT      0.4 of MKL's time
 *
 * A row of the product is a channel of a `Line`, and an inner element is a tap: it reads a row of the right
 * factor. A factor whose rows or columns do not lie as the tiles read them is turned first. */
#include "graph/small_product.h"

#include "convolution/tiles.h"

#define MOST_INNER 64      /* inner elements: longer products pay for BLAS */
#define MOST_ELEMENTS 2048 /* of a factor */
#define MOST_WORK 65536    /* multiplications */

bool small_product_takes(const OwnProduct *product)
{
    const int64_t rows = product->rows, columns = product->columns, inner = product->inner;
    return tiles_for(columns) != NULL && rows > 1 && columns > 1 && inner <= MOST_INNER
           && rows * inner <= MOST_ELEMENTS && columns * inner <= MOST_ELEMENTS
           && rows * columns * inner <= MOST_WORK && (product->left_row == 1 || product->left_column == 1)
           && (product->right_row == 1 || product->right_column == 1);
}

void small_product_run(const OwnProduct *product, float *output, const float *left, const float *right)
{
    const int64_t rows = product->rows, columns = product->columns, inner = product->inner;
    const Tiles *tiles = tiles_for(columns);
    float turned_left[MOST_ELEMENTS], turned_right[MOST_ELEMENTS];
    int64_t taps[MOST_INNER], right_row = product->right_row, width = product->left_column;
    if (product->right_column != 1) {
        transpose(right, product->right_column, columns, inner, turned_right, columns);
        right = turned_right;
        right_row = columns;
    }
    if (product->left_row != 1) {
        transpose(left, product->left_row, rows, inner, turned_left, rows);
        left = turned_left;
        width = rows;
    }
    for (int64_t k = 0; k < inner; k++) {
        taps[k] = k * right_row;
    }
    for (int64_t column = 0; column < columns; column += MOST_VECTORS * tiles->lanes) {
        const int64_t most = MOST_VECTORS * tiles->lanes, left_over = columns - column;
        Line line = {.source = right + column,
                     .taps = taps,
                     .count = inner,
                     .width = width,
                     .places = left_over < most ? left_over : most,
                     .plane = product->output_row};
        const int64_t vectors = (line.places + tiles->lanes - 1) / tiles->lanes;
        const int64_t height = tiles->most_rows[vectors - 1];
        for (int64_t row = 0; row < rows; row += height) {
            line.weights = left + row;
            line.output = output + row * product->output_row + column;
            tiles->line[vectors - 1][(rows - row < height ? rows - row : height) - 1](&line);
        }
    }
}
