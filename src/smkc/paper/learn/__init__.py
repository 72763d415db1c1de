"""Networks trained on kernel images of normal windows; this package needs torch (extra ``deep``).

In: kernel images and scale tokens of normal windows. Out: networks that predict the masked part of
an image, either its pixels (reconstruction) or a teacher's tokens of it (prediction). The distance
of a window's embedding to those of normal windows, and its surprise, the error of the predictions,
are fused into one score by a learned model.
"""
