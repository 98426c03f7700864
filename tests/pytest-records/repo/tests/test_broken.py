import shapes.missing
