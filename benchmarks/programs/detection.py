"""Objects in pictures: a detector with augmented pictures, matching of anchors, and a moving average."""

from __future__ import annotations

import copy
import math
import random
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


def autopad(k, p=None):
    return k // 2 if p is None else p


class Conv(nn.Module):
    default_act = nn.SiLU()

    def __init__(self, c1, c2, k=1, s=1, p=None, act=True):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, autopad(k, p), bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = self.default_act if act is True else nn.Identity()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, c1, c2, shortcut=True):
        super().__init__()
        self.cv1, self.cv2 = Conv(c1, c2), Conv(c2, c2, 3)
        self.add = shortcut and c1 == c2

    def forward(self, x):
        return x + self.cv2(self.cv1(x)) if self.add else self.cv2(self.cv1(x))


class C3(nn.Module):
    def __init__(self, c1, c2, n=1, shortcut=True):
        super().__init__()
        half = c2 // 2
        self.cv1, self.cv2, self.cv3 = Conv(c1, half), Conv(c1, half), Conv(2 * half, c2)
        self.m = nn.Sequential(*(Bottleneck(half, half, shortcut) for _ in range(n)))

    def forward(self, x):
        return self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), 1))


class SPPF(nn.Module):
    def __init__(self, c1, c2, k=5):
        super().__init__()
        self.cv1, self.cv2 = Conv(c1, c1 // 2), Conv(c1 * 2, c2)
        self.m = nn.MaxPool2d(kernel_size=k, stride=1, padding=k // 2)

    def forward(self, x):
        x = self.cv1(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y1 = self.m(x)
            y2 = self.m(y1)
            return self.cv2(torch.cat((x, y1, y2, self.m(y2)), 1))


class Concat(nn.Module):
    def forward(self, x):
        return torch.cat(x, 1)


class Detect(nn.Module):
    stride = torch.tensor([8.0, 16.0])

    def __init__(self, classes, anchors, channels):
        super().__init__()
        self.no, self.nl, self.na = classes + 5, len(anchors), len(anchors[0]) // 2
        self.register_buffer("anchors", torch.tensor(anchors).float().view(self.nl, -1, 2))
        self.m = nn.ModuleList(nn.Conv2d(c, self.no * self.na, 1) for c in channels)

    def forward(self, x):
        z = []
        for i in range(self.nl):
            x[i] = self.m[i](x[i])
            bs, _, ny, nx = x[i].shape
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
            if not self.training:
                xy, wh, rest = x[i].sigmoid().split((2, 2, self.no - 4), 4)
                z.append(torch.cat(((xy * 2) * self.stride[i], (wh * 2) ** 2, rest), 4).view(bs, -1, self.no))
        return x if self.training else (torch.cat(z, 1), x)


class Detector(nn.Module):
    """Layers in a list, each with the numbers of the layers that it reads."""

    def __init__(self, classes=4):
        super().__init__()
        anchors = [[1.2, 1.6, 2.0, 3.8, 4.1, 2.9], [1.9, 3.8, 3.9, 2.8, 3.7, 7.4]]
        table = [
            (-1, Conv(3, 8, 6, 2, 2)),
            (-1, Conv(8, 16, 3, 2)),
            (-1, C3(16, 16)),
            (-1, Conv(16, 32, 3, 2)),
            (-1, C3(32, 32, 2)),
            (-1, Conv(32, 64, 3, 2)),
            (-1, SPPF(64, 64)),
            (-1, Conv(64, 32)),
            (-1, nn.Upsample(None, 2, "nearest")),
            ([-1, 4], Concat()),
            (-1, C3(64, 32, 1, False)),
            ([10, 6], Detect(classes, anchors, (32, 64))),
        ]
        self.model = nn.Sequential()
        for i, (source, layer) in enumerate(table):
            layer.i, layer.f = i, source
            self.model.append(layer)
        self.save = {4, 6, 10}

    def forward(self, x):
        y = []
        for m in self.model:
            if m.f != -1:
                x = y[m.f] if isinstance(m.f, int) else [x if j == -1 else y[j] for j in m.f]
            x = m(x)
            y.append(x if m.i in self.save else None)
        return x


def box_iou(box1, box2, eps=1e-7):
    """Complete intersection over union of boxes given by centre and size."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = box1.chunk(4, 1), box2.chunk(4, 1)
    left1, right1, top1, bottom1 = x1 - w1 / 2, x1 + w1 / 2, y1 - h1 / 2, y1 + h1 / 2
    left2, right2, top2, bottom2 = x2 - w2 / 2, x2 + w2 / 2, y2 - h2 / 2, y2 + h2 / 2
    inter = (right1.minimum(right2) - left1.maximum(left2)).clamp(0) * (
        bottom1.minimum(bottom2) - top1.maximum(top2)
    ).clamp(0)
    iou = inter / (w1 * h1 + w2 * h2 - inter + eps)
    cw, ch = right1.maximum(right2) - left1.minimum(left2), bottom1.maximum(bottom2) - top1.minimum(top2)
    rho2 = (x2 - x1) ** 2 + (y2 - y1) ** 2
    v = (4 / math.pi**2) * (torch.atan(w2 / h2) - torch.atan(w1 / h1)).pow(2)
    with torch.no_grad():
        alpha = v / (v - iou + (1 + eps))
    return iou - (rho2 / (cw**2 + ch**2 + eps) + v * alpha)


class ComputeLoss:
    def __init__(self, model):
        self.detect = model.model[-1]
        self.bce_cls = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0]))
        self.bce_obj = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0]))
        self.balance = [4.0, 1.0]

    def __call__(self, p, targets):
        lcls, lbox, lobj = torch.zeros(1), torch.zeros(1), torch.zeros(1)
        for i, (pi, (b, a, gj, gi, tbox, anchors, tcls)) in enumerate(zip(p, self.build_targets(p, targets))):
            tobj = torch.zeros(pi.shape[:4], dtype=pi.dtype)
            n = b.shape[0]
            if n:
                pxy, pwh, _, pcls = pi[b, a, gj, gi].split((2, 2, 1, self.detect.no - 5), 1)
                pbox = torch.cat((pxy.sigmoid() * 2 - 0.5, (pwh.sigmoid() * 2) ** 2 * anchors), 1)
                iou = box_iou(pbox, tbox).squeeze(1)
                lbox += (1.0 - iou).mean()
                tobj[b, a, gj, gi] = iou.detach().clamp(0).type(tobj.dtype)
                wanted = torch.full_like(pcls, 0.0)
                wanted[range(n), tcls] = 1.0
                lcls += self.bce_cls(pcls, wanted)
            lobj += self.bce_obj(pi[..., 4], tobj) * self.balance[i]
        bs = p[0].shape[0]
        return (lbox * 0.05 + lobj + lcls * 0.5) * bs, torch.cat((lbox, lobj, lcls)).detach()

    def build_targets(self, p, targets):
        """For each level: picture, anchor, row and column of each target, its box, anchor and class."""
        na, nt = self.detect.na, targets.shape[0]
        found = []
        gain = torch.ones(7)
        ai = torch.arange(na).float().view(na, 1).repeat(1, nt)
        targets = torch.cat((targets.repeat(na, 1, 1), ai[..., None]), 2)
        for i in range(self.detect.nl):
            anchors, shape = self.detect.anchors[i], p[i].shape
            gain[2:6] = torch.tensor(shape)[[3, 2, 3, 2]].float()
            t = targets * gain
            if nt:
                r = t[..., 4:6] / anchors[:, None]
                t = t[torch.max(r, 1 / r).max(2)[0] < 4.0]
            else:
                t = targets[0]
            bc, gxy, gwh, a = t.chunk(4, 1)
            a, (b, c) = a.long().view(-1), bc.long().T
            gij = gxy.long()
            gi, gj = gij.T
            place = gj.clamp(0, shape[2] - 1), gi.clamp(0, shape[3] - 1)
            found.append((b, a, *place, torch.cat((gxy - gij, gwh), 1), anchors[a], c))
        return found


def augment(images, boxes):
    """Brightness, a flip, another size."""
    gain = 1 + random.uniform(-0.3, 0.3)
    images = (images * gain).clip(0, 1)
    if random.random() < 0.5:
        images = torch.flip(images, (3,))
        boxes = boxes.clone()
        boxes[:, 2] = 1 - boxes[:, 2]
    if random.random() < 0.3:
        size = random.choice((48, 80))
        images = F.interpolate(images, size=(size, size), mode="bilinear", align_corners=False)
    return images, boxes


class ModelEMA:
    def __init__(self, model, decay=0.9999, tau=20):
        self.ema = copy.deepcopy(model).eval()
        self.updates = 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        msd = model.state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v *= d
                v += (1 - d) * msd[k].detach()


@program(steps=40)
def yolo(tick, steps):
    random.seed(0)
    model = Detector()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    optimizer = torch.optim.SGD(
        [p for p in model.parameters() if p.dim() <= 1], lr=0.01, momentum=0.9, nesterov=True
    )
    optimizer.add_param_group({"params": decayed, "weight_decay": 5e-4})
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda x: (1 - x / steps) * 0.99 + 0.01)
    ema, compute_loss, mloss = ModelEMA(model), ComputeLoss(model), torch.zeros(3)
    batches = 10
    for step in range(steps):
        model.train()
        if step < 8:
            for group in optimizer.param_groups:
                group["momentum"] = 0.8 + 0.1 * step / 8
        count = random.randint(3, 8)
        boxes = torch.rand(count, 6)
        boxes[:, 0], boxes[:, 1] = torch.randint(0, 4, (count,)), torch.randint(0, 4, (count,))
        boxes[:, 4:] = boxes[:, 4:] * 0.5 + 0.1
        images, boxes = augment(torch.rand(4, 3, 64, 64), boxes)
        loss, items = compute_loss(model(images), boxes)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
        optimizer.step()
        optimizer.zero_grad()
        ema.update(model)
        i = step % batches
        mloss = (mloss * i + items) / (i + 1)
        ("%11.4g" * 3) % (*mloss[:2], boxes.shape[0])
        if i == batches - 1:
            scheduler.step()
            with torch.no_grad():
                ema.ema(torch.rand(2, 3, 64, 64))[0][..., 4].max().item()
        tick(loss.item())
    return [*model.parameters(), *ema.ema.parameters()]
